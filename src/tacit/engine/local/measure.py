"""How long an evaluation takes on local nodes, in how many rounds and bytes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.engine.agreement.terms import PinnedSearch
from tacit.engine.coordinator.secure import SecureEngine, SecureObjective
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.local.engine import open_engine
from tacit.problems import generate_assignment

DISCLOSURES = ("none", "order", "quantiles:5", "buckets:5", "top:10", "above:75")
WARM_UPS = 3


@dataclass(frozen=True)
class Measured:
    """What evaluations under one disclosure took."""

    each_seconds: tuple[float, ...]
    """The median of each measurement."""
    rounds: int
    bytes_per_node: int

    @property
    def seconds(self) -> float:
        """The median over measurements."""
        return statistics.median(self.each_seconds)


def measure_engine(
    *,
    population: int,
    size: int,
    latency_ms: float = 0.0,
    repeats: int = 20,
    measurements: int = 1,
    disclosures: Sequence[str] = DISCLOSURES,
    best: str = "value",
    nodes: int = 3,
) -> dict[str, Measured]:
    """Evaluate random populations of a size x size assignment under each disclosure.

    Every measurement goes through all disclosures, so that a machine that slows down slows all of
    them down, and measurements differ by what times are uncertain.
    """
    base = generate_assignment(1, rows=size)
    rng = np.random.default_rng(1)
    plans = [
        rng.permuted(np.tile(np.arange(size, dtype=np.int32), (population, 1)), axis=1)
        for _ in range(repeats + WARM_UPS)
    ]
    with (
        LocalCluster(nodes=nodes, delay_ms=latency_ms, chosen_populations=True) as cluster,
        ExitStack() as stack,
    ):
        engines = {}
        for text in disclosures:
            objective = replace(
                base.objectives[0],
                disclosure=parse_disclosure(text),
                best_mode=parse_best_mode(best),
            )
            engine, signatures, sealed = open_engine(
                replace(base, objectives=(objective,)),
                cluster.config,
                search=PinnedSearch("genetic", {}, seed=1),
                evaluations=measurements * len(plans),
                population=(population, population),
            )
            stack.enter_context(engine)
            engine.start(signatures, sealed)
            engines[text] = engine
        times: dict[str, list[float]] = {text: [] for text in disclosures}
        for _ in range(measurements):
            for text, engine in engines.items():
                times[text].append(_median_seconds(engine, plans))
        return {text: _measured(engines[text], times[text]) for text in disclosures}


def _median_seconds(engine: SecureEngine, plans: Sequence[NDArray[np.int32]]) -> float:
    evaluator, times = SecureObjective(engine, 0), []
    for each in plans:
        started = time.perf_counter()
        evaluator.evaluate(each, until=None)
        times.append(time.perf_counter() - started)
    return statistics.median(times[WARM_UPS:])


def _measured(engine: SecureEngine, times: Sequence[float]) -> Measured:
    evaluations = engine.evaluations(0)
    engine.wait(engine.submit(evaluations.settle(until=None)), until=None)
    return Measured(tuple(times), evaluations.rounds, evaluations.sent)
