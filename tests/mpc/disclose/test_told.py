"""Nodes that are told what the coordinator is told: the same, for the declared bytes."""

import numpy as np
import pytest

from tacit.mpc import Best, DisclosedValues, FitnessBound, Session, Spec, collect, evaluate
from tacit.mpc.disclose.node import cost as evaluation_cost
from tacit.mpc.disclose.told import cost, tell_nodes
from tacit.mpc.local import PartiesRun, deal_integers, run_parties
from tests.mpc.disclose.twin import disclose

RNG = np.random.default_rng(11)
BOUND = FitnessBound(-40, 90)
TEXTS = ["none", "order", "quantiles:5", "top:3", "buckets:9", "buckets:10", "above:75"]


def told(f: list[int], text: str, best: Best) -> PartiesRun[DisclosedValues]:
    shares, spec = deal_integers(f), Spec.parse(text)
    old = deal_integers([12])

    async def node(s: Session) -> DisclosedValues:
        state = old[s.me] if best == "improvement" else None
        await evaluate(s, shares[s.me], spec=spec, bound=BOUND, best=best, best_so_far=state)
        return await tell_nodes(s, len(f), spec=spec, bound=BOUND, best=best)

    return run_parties(node, lambda s: collect(s, len(f), spec=spec, bound=BOUND, best=best))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
def test_every_node_learns_what_the_coordinator_learns(text: str, best: Best) -> None:
    f = RNG.integers(-40, 90, 23, endpoint=True)
    run = told(f.tolist(), text, best)
    for node in run.results:
        assert node.labels.tolist() == run.coordinator.labels.tolist() == disclose(f, text).tolist()
        # Exact fitness has its best in it; whether it improved is the coordinator's alone.
        shown = best == "value" and text != "none"
        assert node.best_value == (f.max() if shown else None)
        assert node.improved is None


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
def test_the_declared_bytes_are_sent(text: str, best: Best) -> None:
    n, spec = 31, Spec.parse(text)
    run = told(RNG.integers(-40, 90, n, endpoint=True).tolist(), text, best)
    alone = evaluation_cost(n, spec=spec, bound=BOUND, best=best, has_best=best == "improvement")
    declared = alone.then(cost(n, spec=spec, best=best))
    assert run.sent == declared.sent
    # What the coordinator waits for takes no more rounds; the nodes are done one later at most.
    assert run.coordinator.rounds <= run.rounds <= declared.rounds
