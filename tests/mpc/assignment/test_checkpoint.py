"""Whether all is proved: one bit, at the declared cost, that shows nothing else."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc import COORDINATOR
from tacit.mpc.assignment import checkpoint
from tacit.mpc.assignment.checkpoint import hear_finished, tell_finished
from tacit.mpc.local import parties, run_parties
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare, deal_bits
from tests.mpc.assignment.problems import Asked
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_bits_alike


@three_and_four
@pytest.mark.parametrize("bits", [[1], [0], [1, 1, 1], [1, 1, 0, 1, 1], [1] * 6, [0] * 4])
def test_it_is_opened_whether_all_are_proved(nodes: int, bits: list[int]) -> None:
    shares = deal_bits(np.array(bits, dtype=np.uint8), nodes=nodes)
    run = run_parties(lambda s: tell_finished(s, shares[s.me]), hear_finished, nodes=nodes)
    assert run.results == [all(bits)] * nodes
    assert run.coordinator is all(bits)
    check_cost(run, checkpoint.cost(nodes, len(bits)))


@pytest.mark.parametrize("count", [2, 30])
def test_the_proofs_of_a_batch_are_opened_as_the_twins_say(count: int) -> None:
    costs = np.random.default_rng(3).integers(0, 99, (3, 7, 7))
    asked = Asked.square(costs, start=tuple(range(7)))
    dealt = asked.dealt()

    async def node(s: Session) -> bool:
        state = await asked.begin(s, dealt[s.me])
        state = await asked.advance(s, state, dealt[s.me], count)
        answer = await asked.finish(s, state, dealt[s.me])
        assert answer.proved is not None
        return await tell_finished(s, answer.proved)

    gaps = []
    for weighting in range(3):
        twin = asked.twin(weighting)
        gaps.append(twin.gap(asked.clear(weighting, range(7), [count])[-1]))
    run = run_parties(node, hear_finished, timeout=60.0)
    assert run.results == [not any(gaps)] * 3
    assert run.coordinator is (count == 30)


class Unmasked(RememberedMasks):
    """A weakened source: products have no masks."""

    def words(self, label: str, component: int, count: int) -> Words:
        return super().words(label, component, count) * np.uint64(0)


async def _the_last(session: Session, proved: BitShare) -> bool:
    """A weakened checkpoint: it tells of one weighting alone."""
    return await tell_finished(session, proved[-1:])


def p_of_same_view(
    nodes: int, masks: type[RememberedMasks] = RememberedMasks, tell: object = tell_finished
) -> float:
    """Node 1 and the coordinator see the same whichever of three plans is not proved."""
    observer = 1

    async def lines(bits: list[int], numbers: range) -> NDArray[np.uint8]:
        shares = split_bits_alike(np.array(bits, dtype=np.uint8), observer, nodes=nodes)

        async def node(s: Session) -> None:
            await tell(s, shares[s.me])  # type: ignore[operator]

        made = []
        for number in numbers:
            with letters_seen() as arrived:
                source = fixed_for(observer, number, masks, nodes=nodes)
                await parties(node, hear_finished, nodes=nodes, masks=source)
            seen = [*arrived[observer], *arrived[COORDINATOR]]
            made.append(np.unpackbits(np.concatenate([each.reshape(-1) for each in seen])))
        return np.array(made, dtype=np.uint8)

    async def compared() -> float:
        first = await lines([1, 1, 0], range(40))
        return corrected_p(first, await lines([0, 1, 1], range(40, 80)))

    return asyncio.run(compared())


@three_and_four
def test_which_one_is_not_proved_does_not_show(nodes: int) -> None:
    assert p_of_same_view(nodes) > CHANCE
    assert p_of_same_view(nodes, Unmasked) < SURE


def test_a_bit_of_one_weighting_would_show() -> None:
    assert p_of_same_view(3, tell=_the_last) < SURE
