"""Nodes that are told what the coordinator is told: the same, for the declared bytes."""

import numpy as np
import pytest

from tacit.mpc import Best, DisclosedValues, FitnessBound, Session, Spec, collect, evaluate
from tacit.mpc.disclose.evaluation import cost as evaluation_cost
from tacit.mpc.local import PartiesRun, deal_integers, run_parties
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.disclose.twin import disclose

RNG = np.random.default_rng(11)
BOUND = FitnessBound(-40, 90)
TEXTS = ["none", "order", "quantiles:5", "top:3", "buckets:9", "buckets:10", "above:75"]


def told(f: list[int], text: str, best: Best, nodes: int) -> PartiesRun[DisclosedValues | None]:
    shares, spec = deal_integers(f, nodes=nodes), Spec.parse(text)
    old = deal_integers([12], nodes=nodes)

    async def node(s: Session) -> DisclosedValues | None:
        state = old[s.me] if best == "improvement" else None
        made = await evaluate(
            s, shares[s.me], spec=spec, bound=BOUND, best=best, best_so_far=state, told=True
        )
        return made.told

    return run_parties(
        node, lambda s: collect(s, len(f), spec=spec, bound=BOUND, best=best), nodes=nodes
    )


@three_and_four
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
def test_every_node_learns_what_the_coordinator_learns(text: str, best: Best, nodes: int) -> None:
    f = RNG.integers(-40, 90, 23, endpoint=True)
    run = told(f.tolist(), text, best, nodes)
    for node in run.results:
        assert node is not None
        assert node.labels.tolist() == run.coordinator.labels.tolist() == disclose(f, text).tolist()
        # Exact fitness has its best in it; whether it improved is the coordinator's alone.
        shown = best == "value" and text != "none"
        assert node.best_value == (f.max() if shown else None)
        assert node.improved is None


@three_and_four
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
def test_the_declared_bytes_are_sent(text: str, best: Best, nodes: int) -> None:
    n, spec = 31, Spec.parse(text)
    run = told(RNG.integers(-40, 90, n, endpoint=True).tolist(), text, best, nodes)
    has_best = best == "improvement"
    alone, declared = (
        evaluation_cost(
            nodes, n, spec=spec, bound=BOUND, best=best, has_best=has_best, told=is_told
        )
        for is_told in (False, True)
    )
    check_cost(run, declared)
    # What is told goes beside what the coordinator gets.
    assert declared.rounds == alone.rounds
