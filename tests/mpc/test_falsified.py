"""A node that computes with something else than it holds, and is honest otherwise.

Of four nodes one may do so: no answer is wrong, and whoever stops names it. On three nodes, where
nobody vouches, it can learn what it must not: the reason for a fourth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import MismatchError, PeerError
from tacit.mpc import COORDINATOR, Best, FitnessBound, Session, Spec, collect, evaluate
from tacit.mpc.local import deal_integers, parties
from tacit.mpc.protocols import halves, less_than, pairwise
from tacit.mpc.protocols.ranking import pair_differences
from tacit.mpc.shares import ArithmeticShare, party_name
from tests.mpc.disclose.twin import disclose
from tests.mpc.tampering import tampered
from tests.mpc.waiting_clock import run_without_waiting

F = np.array([5, 9, 0, 5, 7])
BOUND = FitnessBound(0, 9)
RNG = np.random.default_rng(12)


@dataclass
class Falsified:
    """Which node alters one entry of a component before the run, or of what it gets in a round."""

    node: int
    component: int | None = None
    entry: int = 0
    exchange: int = -1

    def share(self, me: int, share: ArithmeticShare) -> ArithmeticShare:
        if me != self.node or self.component is None:
            return share
        part = share.parts[self.component].copy()
        part[self.entry] += np.uint64(1 << int(RNG.integers(4)))
        return ArithmeticShare({**share.parts, self.component: part})

    def disturb(self, session: Session) -> None:
        """Alter one byte of each array that a round brings, after it was checked."""
        exchange, count = session.exchange, 0

        async def altered(letters: Any, contents: Any) -> dict[int, NDArray[Any]]:
            nonlocal count
            arrived = await exchange(letters, contents)
            count += 1
            if count - 1 == self.exchange:
                arrived = {number: array.copy() for number, array in arrived.items()}
                for array in arrived.values():
                    array.reshape(-1).view(np.uint8)[int(RNG.integers(array.nbytes))] ^= 1
            return arrived

        session.exchange = altered  # type: ignore[method-assign]


def run(text: str, best: Best, falsified: Falsified) -> dict[int, Any]:
    """What each party of four returns or raises."""
    shares, old = deal_integers(F, nodes=4), deal_integers([4], nodes=4)
    ask = {"spec": Spec.parse(text), "bound": BOUND, "best": best}

    async def guarded(work: Any) -> Any:
        try:
            return await work
        except PeerError as error:
            return error

    def node(s: Session) -> Any:
        if s.me == falsified.node:
            falsified.disturb(s)
        share = falsified.share(s.me, shares[s.me])
        state = old[s.me] if best == "improvement" else None
        return guarded(evaluate(s, share, **ask, best_so_far=state, told=True))  # type: ignore[arg-type]

    async def whole() -> dict[int, Any]:
        made = await parties(
            node,
            lambda s: guarded(collect(s, len(F), **ask)),  # type: ignore[arg-type]
            nodes=4,
            timeout=1,
        )
        return {**dict(enumerate(made.results)), COORDINATOR: made.coordinator}

    return run_without_waiting(whole())


def check(text: str, best: Best, falsified: Falsified) -> bool:
    """No honest party has a wrong answer, and a mismatch names the node; whether one was seen."""
    outcomes = run(text, best, falsified)
    noticed, stopped = False, False
    for party, outcome in outcomes.items():
        if party == falsified.node:
            continue
        if isinstance(outcome, MismatchError):
            noticed = True
            assert party_name(falsified.node) in (outcome.peer, outcome.voucher)
        if isinstance(outcome, PeerError):
            stopped = True
            continue
        values = outcome if party == COORDINATOR else outcome.told
        assert values.labels.tolist() == disclose(F, text).tolist()
        if party == COORDINATOR:
            assert values.best_value == (F.max() if best == "value" else None)
            assert values.improved in (True, None)
    # Otherwise it was not used by then, or the node itself could not go on and fell silent.
    assert noticed or not stopped or isinstance(outcomes[falsified.node], PeerError)
    return noticed


@pytest.mark.parametrize("node", range(4))
def test_a_falsified_component_never_leads_to_a_wrong_answer(node: int) -> None:
    cases: list[tuple[str, Best]] = [("order", "value"), ("above:50", "improvement")]
    noticed = [
        check(text, best, Falsified(node, component, entry))
        for text, best in cases
        for component in range(4)
        if component != node
        for entry in range(len(F))
    ]
    assert len(noticed) == 30  # at each of four nodes
    # The first stage of the shuffle replaces all that node 0 holds; nodes 2 and 3 do that stage.
    assert sum(noticed) == {0: 0, 1: 20, 2: 30, 3: 30}[node]


@pytest.mark.parametrize("node", range(4))
def test_what_a_node_falsifies_on_the_way_never_leads_to_a_wrong_answer(node: int) -> None:
    noticed = [check("buckets:3", "value", Falsified(node, exchange=k)) for k in range(9)]
    assert any(noticed)


# What a check after the opening would give away.

BITS, BLOCKS = 20, 10


def keys(rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffled keys of 60 individuals, with their tie-breaking indices."""
    fitness = rng.normal(6000, 300, 60).astype(np.int64)
    return (fitness << 6) + np.arange(60)[::-1]


def attacked(nodes: int, block: int) -> tuple[list[Any], NDArray[np.int64], list[int]]:
    """Node 0 flips what one block of every comparison generates, and compares all pairs.

    What each node ends with, the differences in the clear, and the frames that each sent.
    """
    values = keys(np.random.default_rng(5))
    shares = deal_integers(values, nodes=nodes)

    async def cheating(session: Session, parts: Any, *args: Any, label: str, **options: Any) -> Any:
        if session.me == 0 and label.endswith(".blocks"):
            next(iter(parts.values()))[block] ^= ~np.uint64(0)
        return await pairwise.reshare(session, parts, *args, label=label, **options)

    async def node(s: Session) -> Any:
        differences = shares[s.me].map(pair_differences)
        try:
            batch = await less_than.compare_batch(
                s, differences, differences[:0], bits=BITS, label="c"
            )
        except PeerError as error:
            return error
        return batch.opened

    with pytest.MonkeyPatch.context() as patch, tampered() as log:
        patch.setattr(less_than, "reshare", cheating)
        made = run_without_waiting(parties(node, nodes=nodes, timeout=1))
    return made.results, pair_differences(values), [log.sent_by(i) for i in range(nodes)]


@pytest.mark.parametrize("block", [1, 3, 5])
def test_three_nodes_tell_a_cheater_which_keys_are_close(block: int) -> None:
    results, differences, _ = attacked(3, block)
    assert all(np.array_equal(results[0], other) for other in results)  # nobody notices
    flipped = results[0] != (differences < 0)
    low = BITS - 1 - 2 * block  # the bits below the blocks above
    assert flipped.any()
    assert (np.abs(differences[flipped]) <= 1 << low).all()


@pytest.mark.parametrize("block", [1, 3, 5])
def test_four_nodes_stop_before_a_cheater_learns_anything(block: int) -> None:
    results, _, sent = attacked(4, block)
    for result in results:
        assert isinstance(result, PeerError)  # nothing is opened to anybody
    named = [error for error in results if isinstance(error, MismatchError)]
    assert named
    assert all("node 0" in (error.peer, error.voucher) for error in named)
    # Those who noticed sent the letters of halves and blocks, and nothing after them.
    letters = [
        *halves.half_letters(4, (1,)),
        *pairwise.reshare_letters(4, (1,), pairs=halves.half_pairs(4)),
    ]
    for me, result in enumerate(results):
        if isinstance(result, MismatchError):
            assert sent[me] <= sum(me in letter.senders for letter in letters)
