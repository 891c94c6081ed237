"""How long an evaluation takes on three local nodes, in how many rounds and bytes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.engine.agreement.terms import PinnedSearch
from tacit.engine.coordinator.secure import SecureObjective
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.local.engine import open_engine
from tacit.problems import generate_assignment

DISCLOSURES = ("none", "order", "quantiles:5", "buckets:5", "top:10", "above:75")
WARM_UPS = 3


@dataclass(frozen=True)
class Measured:
    """What evaluations under one disclosure took."""

    seconds: float
    """The median over all repetitions."""
    rounds: int
    bytes_per_node: int


def measure_engine(
    *,
    population: int,
    size: int,
    latency_ms: float = 0.0,
    repeats: int = 20,
    disclosures: Sequence[str] = DISCLOSURES,
    best: str = "value",
) -> dict[str, Measured]:
    """Evaluate random populations of a size x size assignment under each disclosure."""
    base = generate_assignment(1, rows=size)
    rng = np.random.default_rng(1)
    plans = [
        rng.permuted(np.tile(np.arange(size, dtype=np.int32), (population, 1)), axis=1)
        for _ in range(repeats + WARM_UPS)
    ]
    measured = {}
    with LocalCluster(delay_ms=latency_ms) as cluster:
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
                evaluations=len(plans),
                population=(population, population),
            )
            with engine:
                engine.start(signatures, sealed)
                evaluator = SecureObjective(engine, 0)
                times = []
                for each in plans:
                    started = time.perf_counter()
                    evaluator.evaluate(each, until=None)
                    times.append(time.perf_counter() - started)
                evaluations = engine.evaluations(0)
                engine.wait(engine.submit(evaluations.settle(until=None)), until=None)
                measured[text] = Measured(
                    statistics.median(times[WARM_UPS:]), evaluations.rounds, evaluations.sent
                )
    return measured
