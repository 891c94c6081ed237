"""What a node that was lost may build on: what all of its peers have, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.errors import RefusedError
from tacit.mpc import ArithmeticShare
from tacit.node.agreement_state import AgreementState
from tacit.node.epoch_state import Names
from tacit.node.store import Store
from tacit.records.peer_messages import EpochBegins
from tacit.records.requests import Attempt
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.fixtures import example_cast

OLD, NEW = Attempt.of(4, 50, 0), Attempt.of(5, 60, 0)


def held(root: Path) -> AgreementState:
    cast = example_cast()
    terms = replace(cast.agreement.objectives[0], best="improvement")
    nodes = [*cast.agreement.nodes, cast.agreement.nodes[0]]
    agreement = replace(cast.agreement, objectives=[terms], nodes=nodes, on_loss="three")
    store = Store.create(root, agreement, cast.signatures)
    return AgreementState(store, node=0, key=cast.sealing[0])


def told(bests: Names, numbers: int = 5) -> EpochBegins:
    used = {0: [(number, bytes([number]) * 32) for number in range(1, numbers + 1)]}
    return EpochBegins(used, {}, 0, "", b"", bests_of_three=bests)


def share(components: int) -> ArithmeticShare:
    return ArithmeticShare({c: np.ones(1, dtype=np.uint64) for c in range(1, components + 1)})


def test_what_all_peers_have_is_handed_over(tmp_path: Path) -> None:
    state = held(tmp_path)
    best = state.counters.bests[0]
    best.keep(2, Attempt.of(2, 40, 0), share(3))
    run(state.epochs.hear([told({0: [OLD, NEW]}), told({0: [NEW, OLD]}), told({0: [NEW]})]))
    assert best.from_peers == [NEW]
    assert (best.newest, best.available[0]) == (NEW, NEW)
    assert best.before(6, NEW, begun=5) is None
    for number, parent in ((6, OLD), (5, OLD), (5, NEW), (6, Attempt.of(2, 40, 0))):
        with pytest.raises(RefusedError):
            best.before(number, parent, begun=5)
    # Once it has computed on from that, its own share counts.
    best.keep(6, Attempt.of(6, 70, 0), share(3))
    found = best.before(7, Attempt.of(6, 70, 0), begun=6)
    assert found is not None
    with pytest.raises(RefusedError):
        best.before(7, NEW, begun=6)


def test_nothing_is_taken_from_fewer_than_all(tmp_path: Path) -> None:
    """One of the three that has lost its state is no node that is back."""
    state = held(tmp_path)
    for peers in ([told({0: [NEW]})] * 2, [told({0: [NEW]}), told({0: [NEW]}), told({})]):
        run(state.epochs.hear(peers))
        assert state.counters.bests[0].from_peers == []


def test_one_of_three_tells_what_it_has_with_two_others(tmp_path: Path) -> None:
    state = held(tmp_path)
    best = state.counters.bests[0]
    best.keep(4, OLD, share(3))
    best.keep(5, NEW, share(2))
    said = run(state.epochs.tell(1))
    assert said.bests_of_three == {0: [NEW]}
    run(state.epochs.hear([told({0: [NEW]})] * 3))
    assert best.from_peers == []
