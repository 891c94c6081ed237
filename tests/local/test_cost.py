"""Rounds and bytes through the whole stack of a node, at the size that we promise them for."""

from __future__ import annotations

from typing import Any

import pytest
from studies.benchmarks.engine import DISCLOSURES, measure_engine

from tacit.mpc import Cost, FitnessBound, Spec
from tacit.mpc.disclose.evaluation import cost as evaluation_cost
from tacit.mpc.epoch import greeting_cost
from tacit.mpc.letters import WORD
from tacit.mpc.protocols import opening, shuffle

pytestmark = pytest.mark.processes

LIMITS = {
    3: {"none": (2, 10_000), "order": (11, 390_000), "buckets": (16, 390_000)},
    4: {"none": (2, 10_000), "order": (12, 500_000), "buckets": (18, 500_000)},
}
BOUND = FitnessBound.of_sum(100, 1000)


def limits(disclosure: str, nodes: int) -> tuple[int, int]:
    kind, all_kinds = disclosure.partition(":")[0], LIMITS[nodes]
    return all_kinds["buckets" if kind == "above" else kind if kind in all_kinds else "order"]


def declared_cost(nodes: int, spec: Spec, best: str) -> Cost:
    """Of an evaluation over real links, which begins with a greeting."""
    first = (
        opening.coordinator_letters(nodes, (300,), WORD)
        if spec.kind == "none"
        else shuffle.first_letters(nodes, (300, 2))
    )
    told: Any = best if spec.kind != "none" else "value"
    return greeting_cost(nodes, first).then(
        evaluation_cost(nodes, 300, spec=spec, bound=BOUND, best=told, has_best=True)
    )


@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize("best", ["value", "improvement"])
def test_rounds_and_bytes_at_300(best: str, nodes: int) -> None:
    # The first has no best so far.
    measured = measure_engine(
        population=300, size=100, repeats=1, warm_ups=1, best=best, nodes=nodes
    )
    assert set(measured) == set(DISCLOSURES)
    for text, found in measured.items():
        rounds, sent = limits(text, nodes)
        assert found.rounds <= rounds, text
        assert found.bytes_per_node <= sent, text
        declared = declared_cost(nodes, Spec.parse(text), best)
        assert (found.rounds, found.bytes_per_node) == (declared.rounds, declared.bytes_per_node)


def test_populations_of_5000() -> None:
    measured = measure_engine(
        population=5000, size=20, repeats=1, warm_ups=0, disclosures=["order", "buckets:5"]
    )
    for found in measured.values():
        assert found.rounds <= 40
        assert found.bytes_per_node <= 10_000_000
