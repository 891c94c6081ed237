"""Rounds and bytes through the whole stack of a node, at the size that we promise them for."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tacit.engine.local.cluster import LocalCluster
from tacit.engine.local.measure import DISCLOSURES, measure_engine
from tacit.mpc import FitnessBound, Spec
from tacit.mpc.disclose.node import cost as evaluation_cost

pytestmark = pytest.mark.processes

LIMITS = {"none": (2, 10_000), "order": (12, 800_000), "buckets": (18, 900_000)}
BOUND = FitnessBound.of_sum(100, 1000)


def limits(disclosure: str) -> tuple[int, int]:
    kind = disclosure.partition(":")[0]
    return LIMITS["buckets" if kind == "above" else kind if kind in LIMITS else "order"]


@pytest.fixture(autouse=True)
def _nodes_are_there(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.engine.local.measure.LocalCluster", lambda **_: nullcontext(cluster))


@pytest.mark.parametrize("best", ["value", "improvement"])
def test_rounds_and_bytes_at_300(best: str) -> None:
    measured = measure_engine(population=300, size=100, repeats=1, best=best)
    assert set(measured) == set(DISCLOSURES)
    for text, found in measured.items():
        rounds, sent = limits(text)
        assert found.rounds <= rounds, text
        assert found.bytes_per_node <= sent, text
        spec, told = Spec.parse(text), best if text != "none" else "value"
        declared = evaluation_cost(300, spec=spec, bound=BOUND, best=told, has_best=True)  # type: ignore[arg-type]
        assert (found.rounds, found.bytes_per_node) == (declared.rounds, declared.bytes_per_node)


def test_populations_of_5000() -> None:
    measured = measure_engine(
        population=5000, size=20, repeats=1, disclosures=["order", "buckets:5"]
    )
    for found in measured.values():
        assert found.rounds <= 40
        assert found.bytes_per_node <= 10_000_000
