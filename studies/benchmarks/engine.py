"""Measure an evaluation on local nodes: its time, rounds, bytes and work."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import PinnedSearch
from tacit.coordinator import SecureEngine, SecureObjective
from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.local import LocalCluster, open_engine
from tacit.problems import generate_assignment

DISCLOSURES = ("none", "order", "quantiles:5", "buckets:5", "top:10", "above:75")
WARM_UPS = 3


@dataclass(frozen=True)
class EngineTime:
    """What evaluations under one disclosure took."""

    each_seconds: tuple[float, ...]
    """The median of each measurement."""
    each_processor_seconds: tuple[float, ...]
    """Of one evaluation at a node, the mean over nodes, for each measurement."""
    rounds: int
    bytes_per_node: int

    @property
    def seconds(self) -> float:
        """The median over measurements."""
        return statistics.median(self.each_seconds)

    @property
    def processor_seconds(self) -> float:
        """The median over measurements."""
        return statistics.median(self.each_processor_seconds)


def measure_engine(*, nodes: int = 3, **how: Any) -> dict[str, EngineTime]:
    """Evaluate random populations on a cluster of this size; see `measure_engines`."""
    return measure_engines((nodes,), **how)[nodes]


def measure_engines(
    sizes: Sequence[int],
    *,
    population: int,
    size: int,
    latency_ms: float = 0.0,
    repeats: int = 20,
    measurements: int = 1,
    warm_ups: int = WARM_UPS,
    disclosures: Sequence[str] = DISCLOSURES,
    best: str = "value",
) -> dict[int, dict[str, EngineTime]]:
    """Evaluate random populations of a size x size assignment, by nodes and disclosure.

    Every measurement goes through all disclosures and clusters, so that a machine that slows down
    slows all of them down, and measurements differ by what times are uncertain.
    """
    base = generate_assignment(1, rows=size)
    rng = np.random.default_rng(1)
    plans = [
        rng.permuted(np.tile(np.arange(size, dtype=np.int32), (population, 1)), axis=1)
        for _ in range(repeats + warm_ups)
    ]
    with ExitStack() as stack:
        engines: dict[tuple[int, str], _TimedEngine] = {}
        for nodes in sizes:
            cluster = LocalCluster(nodes=nodes, delay_ms=latency_ms, chosen_populations=True)
            stack.enter_context(cluster)
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
                engines[nodes, text] = _TimedEngine(engine, cluster, warm_ups)
        for _ in range(measurements):
            for text in disclosures:
                for nodes in sizes:
                    engines[nodes, text].measure(plans)
        return {
            nodes: {text: engines[nodes, text].measured() for text in disclosures}
            for nodes in sizes
        }


class _TimedEngine:
    """An engine with what its evaluations took."""

    def __init__(self, engine: SecureEngine, cluster: LocalCluster, warm_ups: int) -> None:
        self._engine, self._cluster, self._warm_ups = engine, cluster, warm_ups
        self._seconds: list[float] = []
        self._processor: list[float] = []

    def measure(self, plans: Sequence[NDArray[np.int32]]) -> None:
        """Evaluate all of these, the first of them to warm up."""
        evaluator, times = SecureObjective(self._engine, 0), []
        before = 0.0
        for number, each in enumerate(plans):
            if number == self._warm_ups:
                self._settle()
                before = self._processor_seconds()
            started = time.perf_counter()
            evaluator.evaluate(each, until=None)
            times.append(time.perf_counter() - started)
        self._settle()
        counted = len(plans) - self._warm_ups
        self._seconds.append(statistics.median(times[self._warm_ups :]))
        self._processor.append((self._processor_seconds() - before) / counted)

    def measured(self) -> EngineTime:
        """What all measurements found."""
        evaluations = self._engine.evaluations(0)
        return EngineTime(
            tuple(self._seconds), tuple(self._processor), evaluations.rounds, evaluations.sent
        )

    def _settle(self) -> None:
        engine = self._engine
        engine.wait(engine.submit(engine.evaluations(0).settle(until=None)), until=None)

    def _processor_seconds(self) -> float:
        """Of all its nodes so far, on average."""
        used = [processor_seconds(process.pid) for process in self._cluster.processes]
        return statistics.mean(used)


def processor_seconds(pid: int, /) -> float:
    """The processor time of another process and all its threads so far (Linux)."""
    # Field 14 and 15 of /proc/PID/stat say the same in hundredths of a second, too coarse here;
    # this is the number of the process's clock, as clock_getcpuclockid(3) makes it.
    return time.clock_gettime((~pid << 3) | 2)
