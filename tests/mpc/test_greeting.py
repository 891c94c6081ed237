"""Nothing leaves a node before all nodes agree on what they compute, with which keys, from what.

Where honest nodes differ, one node's piece and another's hash would tell two values under one mask.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
import pytest

from tacit.errors import MpcError
from tacit.mpc import (
    COORDINATOR,
    Context,
    FitnessBound,
    Session,
    SessionMux,
    Spec,
    collect,
    evaluate,
    open_session,
)
from tacit.mpc.epoch import KEY_BYTES, Epoch
from tacit.mpc.letters import WORD, Letter, frame_bytes
from tacit.mpc.local import deal_integers, run_linked
from tacit.mpc.protocols.shuffle import rounds_of, stage_letters
from tacit.mpc.shares import held_by, party_name
from tacit.mpc.transport.frame import HEADER_BYTES, FrameKind
from tacit.mpc.transport.mux import Mux
from tests.mpc.both import NUMBERS, three_and_four
from tests.mpc.tampering import Left, flipping, lying, what_leaves

CONTEXT = Context(b"agreement", 0, 1, 0, b"request")
BOUND = FitnessBound(0, 100)


Sizes = dict[tuple[str, str], list[int]]
"""The sizes of the frames of the protocol that left, by sender and receiver."""


@dataclass
class Case:
    """What each node believes, where it is not what the others believe."""

    nodes: int
    contexts: dict[int, Context] = field(default_factory=dict)
    states: dict[int, bytes] = field(default_factory=dict)
    transcripts: dict[int, bytes] = field(default_factory=dict)
    timeout: float = 5

    def epoch(self, me: int) -> Epoch:
        keys = {c: bytes([c + 1]) * KEY_BYTES for c in held_by(me, self.nodes)}
        return Epoch(keys, transcript=self.transcripts.get(me, bytes(32)))

    async def node(
        self, me: int, muxes: Mapping[int, SessionMux], text: str, told: bool = False
    ) -> str:
        """What ends a node's evaluation, if anything."""
        context, state = self.contexts.get(me, CONTEXT), self.states.get(me, b"state")
        ask = {"spec": Spec.parse(text), "bound": BOUND, "best": "nothing"}
        share = SHARES[self.nodes][me] if me != COORDINATOR else None
        try:
            async with open_session(
                context,
                me=me,
                muxes=muxes,
                epoch=None if share is None else self.epoch(me),
                state=state,
                timeout=self.timeout,
            ) as session:
                if share is None:
                    await collect(session, 3, **ask)  # type: ignore[arg-type]
                else:
                    await evaluate(session, share, told=told, **ask)  # type: ignore[arg-type]
        except MpcError as error:
            return str(error)
        return ""


SHARES = {nodes: deal_integers([5, 7, 1], nodes=nodes) for nodes in NUMBERS}


def sizes_of(left: list[Left]) -> Sizes:
    sizes: Sizes = defaultdict(list)
    for frame in left:
        if frame.header.channel.kind == FrameKind.PROTOCOL:
            sizes[frame.sender, frame.receiver].append(len(frame.payload))
    return dict(sizes)


def first_frames(nodes: int) -> Sizes:
    """A greeting to every node, with the letters of the first round."""
    letters = stage_letters(nodes, rounds_of(nodes, False, False)[0], False, (3,), WORD)
    return {
        (party_name(a), party_name(b)): [32 + frame_bytes(letters, a, b)]
        for a, b in permutations(range(nodes), 2)
    }


def run(case: Case, text: str = "order") -> tuple[list[str], Sizes]:
    with what_leaves() as left:
        said = run_linked(lambda me, muxes: case.node(me, muxes, text), nodes=case.nodes)
    return said, sizes_of(left)


@three_and_four
def test_nodes_that_agree_go_on(nodes: int) -> None:
    said, left = run(Case(nodes))
    assert not any(said)
    for way, sizes in first_frames(nodes).items():
        assert left[way][:1] == sizes


ANOTHER = {"states": b"other", "transcripts": bytes(31) + b"1"}


@three_and_four
@pytest.mark.parametrize("what", ANOTHER)
@pytest.mark.parametrize("node", [0, 2])
def test_nodes_that_differ_stop_before_the_second_round(what: str, node: int, nodes: int) -> None:
    said, left = run(Case(nodes, **{what: {node: ANOTHER[what]}}))  # type: ignore[arg-type]
    assert all("does not agree with us on what is computed" in said[i] for i in range(nodes))
    assert left == first_frames(nodes)


@three_and_four
def test_another_request_is_noticed_before_the_greeting(nodes: int) -> None:
    case = Case(nodes, contexts={1: replace(CONTEXT, request=b"other")})
    said, left = run(case)
    assert all(said[i] for i in range(nodes))
    assert left == first_frames(nodes)


@pytest.mark.parametrize("byte", [0, 31])
@pytest.mark.parametrize("victim", [1, 2, 3])
def test_a_greeting_is_compared_whole_and_one_who_sees_another_stops(
    byte: int, victim: int
) -> None:
    """Node 0 greets one node with something else; that node stops, and the others with it."""
    case, lie = Case(4), flipping(byte, 1)

    async def party(me: int, muxes: dict[int, Mux]) -> str:
        return await case.node(me, lying(muxes, victim, lie) if me == 0 else muxes, "order")

    with what_leaves() as left:
        said = run_linked(party, nodes=4)
    assert said[victim].startswith("node 0: does not agree with us")
    assert all(said[i] for i in range(1, 4))
    for (sender, _), sizes in sizes_of(left).items():
        # The victim sent nothing more, so nobody got beyond the round after.
        assert sender != f"node {victim}" or len(sizes) == 1


@three_and_four
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("silent", [0, 1, 2])
def test_nothing_is_opened_before_all_nodes_have_met(silent: int, told: bool, nodes: int) -> None:
    """Under the disclosure `none` all letters open something, and go after the greetings."""
    case = Case(nodes, timeout=0.1)

    async def party(me: int, muxes: dict[int, Mux]) -> str:
        if me == silent:
            return ""
        return await case.node(me, muxes, "none", told)

    with what_leaves() as left:
        said = run_linked(party, nodes=nodes)
    assert all(text for me, text in enumerate(said) if me != silent)
    sizes = sizes_of(left)
    assert not [to for _, to in sizes if to == "the coordinator"]
    assert {size for each in sizes.values() for size in each} == {32}


@three_and_four
def test_substreams_wait_until_all_have_met(nodes: int) -> None:
    """Of two substreams that begin together one greets; the other sends nothing before."""
    letters = [Letter((a,), b, (1,)) for a, b in permutations(range(nodes), 2)]
    before: list[int] = []

    async def speak(session: Session) -> None:
        mine = {
            k: np.ones(1, np.uint64) for k, e in enumerate(letters) if e.senders == (session.me,)
        }
        await session.exchange(letters, mine)

    async def party(me: int, muxes: dict[int, Mux]) -> int:
        if me == COORDINATOR:
            return 0
        async with open_session(
            CONTEXT, me=me, muxes=muxes, epoch=Case(nodes).epoch(me)
        ) as session:
            if me == 0:
                for _ in range(20):
                    await asyncio.sleep(0)
                before.append(sum(map(len, sizes_of(left).values())))
            await session.in_parallel(speak, speak)
            return session.sent

    with what_leaves() as left:
        sent = run_linked(party, nodes=nodes)[:nodes]
    # Before node 0 spoke, each other node had sent its greetings in one substream and no more.
    assert before == [(nodes - 1) ** 2]
    each = 2 * (HEADER_BYTES + 8) + 32
    assert sent == [(nodes - 1) * each] * nodes
