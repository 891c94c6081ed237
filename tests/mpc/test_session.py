import asyncio
from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import (
    AbortError,
    MaskReuseError,
    MpcError,
    ParameterError,
    PeerTimeoutError,
)
from tacit.mpc import (
    COORDINATOR,
    Context,
    FitnessBound,
    Session,
    Spec,
    agree_epoch,
    collect,
    evaluate,
    open_session,
)
from tacit.mpc.disclose.evaluation import DisclosedValues
from tacit.mpc.epoch import Epoch
from tacit.mpc.letters import Letter
from tacit.mpc.local import deal_integers, run_linked, run_parties
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.protocols import opening, pairwise
from tacit.mpc.transport import Header, Mux, encode, memory_pair
from tacit.mpc.transport.early_frames import notice_about
from tests.mpc.both import three_and_four

SPEC, BOUND = Spec.parse("order"), FitnessBound(-100, 100)


def ring_of(nodes: int, words: int = 1) -> list[Letter]:
    """A letter from each node to the next."""
    return [Letter((node,), (node + 1) % nodes, (words,)) for node in range(nodes)]


def test_no_label_is_drawn_twice() -> None:
    async def node(session: Session) -> None:
        first, second = session.held[:2]
        session.words("once", first, 2)
        session.words("once", second, 2)
        with pytest.raises(MaskReuseError, match="already drawn"):
            session.words("once", first, 2)
        with pytest.raises(MaskReuseError, match="already drawn"):
            session.permutation("once", first, 2)

    run_parties(node)


def test_substreams_can_be_taken_again_and_rounds_add_up() -> None:
    async def pass_on(session: Session) -> int:
        letters = ring_of(session.nodes)
        mine = np.full(1, session.me, dtype=np.uint64)
        (heard,) = (await session.exchange(letters, {session.me: mine})).values()
        return int(heard[0])

    async def twice(session: Session) -> int:
        return await pass_on(session) + await pass_on(session)

    async def node(session: Session) -> list[int]:
        substreams = session.substreams(2)
        heard = []
        for _ in range(300):  # more often than there are substreams
            heard += await session.in_parallel(pass_on, twice, substreams=substreams)
        return heard

    run = run_parties(node)
    assert run.rounds == 600
    assert run.results[1] == [0, 0] * 300
    assert run.results[0] == [2, 4] * 300


def test_substreams_share_one_register_of_labels() -> None:
    async def draw(session: Session) -> None:
        session.words("once", session.held[0], 1)

    async def node(session: Session) -> None:
        await session.in_parallel(draw, draw)

    with pytest.raises(MaskReuseError):
        run_parties(node)


def test_the_coordinator_draws_nothing() -> None:
    async def coordinator(session: Session) -> None:
        session.words("any", 0, 1)

    async def node(session: Session) -> None:
        await asyncio.sleep(0)

    with pytest.raises(MaskReuseError, match="holds no keys"):
        run_parties(node, coordinator)


def test_every_part_of_the_context_changes_the_masks() -> None:
    base = Context(b"a", 0, 1, 0, b"r")
    # Every byte of a number counts.
    objectives, attempts = ([1 << 8 * byte for byte in range(2)] for _ in range(2))
    evaluations = [1 + (1 << shift) for shift in (0, *range(6, 64, 8))]
    others = [
        Context(b"b", 0, 1, 0, b"r"),
        *(Context(b"a", number, 1, 0, b"r") for number in objectives),
        *(Context(b"a", 0, number, 0, b"r") for number in evaluations),
        *(Context(b"a", 0, 1, number, b"r") for number in attempts),
    ]
    contexts = [base, *others, replace(base, request=b"s")]
    epoch = Epoch({0: bytes(32), 1: bytes(32)})
    drawn = {epoch.masks(c).words("x", 0, 4).tobytes() for c in contexts[:-1]}
    # An epoch computes an attempt for one request alone.
    other = Epoch({0: bytes(32), 1: bytes(32)})
    drawn.add(other.masks(contexts[-1]).words("x", 0, 4).tobytes())
    assert len(drawn) == len(contexts)
    assert len({epoch.greeting(c) for c in contexts}) == len(contexts)
    assert len({c.tag for c in contexts}) == len(contexts)
    # A request has no conversations of its own, so that nodes notice when theirs differ.
    assert len({c.channel(0) for c in contexts}) == len(contexts) - 1
    assert base.channel(0) != base.channel(1)
    with pytest.raises(MaskReuseError, match="computed before"):
        epoch.masks(base)


def test_labels_and_components_have_streams_of_their_own() -> None:
    masks = KeyedMasks({0: bytes(32), 1: bytes([1]) * 32})
    drawn = {masks.words(label, c, 4).tobytes() for label in ("a", "b") for c in (0, 1)}
    assert len(drawn) == 4


async def _evaluate(
    me: int, muxes: dict[int, Mux], epoch: Epoch | None, number: int, request: bytes = b"r"
) -> DisclosedValues | None:
    shares = _SHARES[len(muxes)]
    context = Context(b"agreement", 0, number, 0, request)
    ask = {"spec": SPEC, "bound": BOUND}
    async with open_session(context, me=me, muxes=muxes, epoch=epoch, timeout=5) as session:
        if me == COORDINATOR:
            return await collect(session, 4, best="value", **ask)  # type: ignore[arg-type]
        await evaluate(session, shares[me], best="value", **ask)  # type: ignore[arg-type]
        return None


_SHARES = {nodes: deal_integers([5, -7, 5, 0], nodes=nodes) for nodes in (3, 4)}


@three_and_four
def test_evaluations_interleave_on_the_same_links(nodes: int) -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> list[DisclosedValues | None]:
        epoch = await agree_epoch(me, muxes) if me != COORDINATOR else None
        numbers = range(5) if me != 1 else reversed(range(5))
        return list(await asyncio.gather(*(_evaluate(me, muxes, epoch, k) for k in numbers)))

    for outcome in run_linked(party, nodes=nodes)[-1]:
        assert outcome is not None
        assert outcome.labels.tolist() == [0, 3, 1, 2]
        assert (outcome.best_value, outcome.rounds) == (5, {3: 9, 4: 11}[nodes])


@three_and_four
def test_nodes_with_different_requests_notice_and_the_epoch_ends(nodes: int) -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> tuple[str, bool]:
        epoch = await agree_epoch(me, muxes) if me != COORDINATOR else None
        try:
            await asyncio.wait_for(
                _evaluate(me, muxes, epoch, 1, b"other" if me == 2 else b"r"), timeout=0.5
            )
        except (MpcError, TimeoutError) as error:
            return str(error), epoch is None or epoch.closed
        return "", False

    said = run_linked(party, nodes=nodes)
    assert any("works on another request" in text for text, _ in said[:nodes])
    assert all(closed for _, closed in said[:nodes])


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        (b"", "node 0"),
        (b"\x02", "node 2"),
        (b"node 2", "node 0"),
        (b"the operator of node 2", "node 0"),
        (b"\x01", "node 0"),  # the one that reads it
        (b"\x07", "node 0"),
        (b"\xff", "node 0"),
    ],
)
def test_a_notice_puts_no_word_of_a_peer_into_an_error(payload: bytes, named: str) -> None:
    """It has the number of another node of the session, or it speaks of its sender."""

    async def work() -> None:
        context = Context(b"agreement", 0, 1, 0, b"r")
        pairs = {peer: memory_pair("node 1", f"node {peer}") for peer in (0, 2)}
        ours = {peer: Mux(pair[0]) for peer, pair in pairs.items()}
        theirs = {peer: Mux(pair[1]) for peer, pair in pairs.items()}
        header = Header(notice_about(context.channel(0)), bytes(8), 0, 0, len(payload))
        await pairs[0][1].send(encode(header), payload, timeout=1)
        keys = {component: bytes(32) for component in (0, 2)}
        with pytest.raises(AbortError) as raised:
            async with open_session(context, me=1, muxes=ours, epoch=Epoch(keys), timeout=60) as s:
                await s.tell(b"1")
        assert raised.value.peer == named
        assert raised.value.what == "failed in this evaluation, says node 0"
        for mux in (*ours.values(), *theirs.values()):
            await mux.close()

    asyncio.run(work())


def test_a_failed_session_ends_the_epoch() -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> bool:
        if me == COORDINATOR:
            return True
        epoch = await agree_epoch(me, muxes)
        context = Context(b"agreement", 0, 1, 0, b"r")
        with pytest.raises(AbortError):
            async with open_session(context, me=me, muxes=muxes, epoch=epoch):
                raise AbortError("node 0", "stopped")
        with pytest.raises(MaskReuseError, match="has ended"):
            epoch.masks(Context(b"agreement", 0, 2, 0, b"r"))
        with pytest.raises(MaskReuseError, match="agree_epoch"):
            async with open_session(context, me=me, muxes=muxes, epoch=None):
                pass
        return epoch.closed

    assert all(run_linked(party))


@three_and_four
def test_a_message_of_the_wrong_size_names_its_sender(nodes: int) -> None:
    async def node(session: Session) -> None:
        letters = ring_of(nodes, 4)
        if session.me == 1:
            letters[1] = ring_of(nodes, 3)[1]
        mine = np.zeros(letters[session.me].shape, dtype=np.uint64)
        await session.exchange(letters, {session.me: mine})

    with pytest.raises(AbortError, match="node 1: sent 24 bytes where 32 were due"):
        run_parties(node, nodes=nodes)


def test_a_silent_peer_is_named() -> None:
    async def node(session: Session) -> None:
        if session.me == 0:
            await session.exchange(ring_of(3), {0: np.zeros(1, dtype=np.uint64)})

    with pytest.raises(PeerTimeoutError, match=r"node 2: sent nothing for 0\.01 s"):
        run_parties(node, timeout=0.01)


@three_and_four
def test_received_arrays_cannot_be_written(nodes: int) -> None:
    async def node(session: Session) -> None:
        letters = [*ring_of(nodes, 3), Letter(tuple(range(1, nodes)), 0, (nodes,))]
        mine = {session.me: np.zeros(3, dtype=np.uint64)}
        if session.me:
            mine[nodes] = np.zeros(nodes, dtype=np.uint64)
        for array in (await session.exchange(letters, mine)).values():
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    run_parties(node, nodes=nodes)


@three_and_four
def test_everybody_hears_what_is_told(nodes: int) -> None:
    run = run_parties(lambda s: s.tell(bytes([s.me, 7])), nodes=nodes)
    for me, heard in enumerate(run.results):
        assert heard == {peer: bytes([peer, 7]) for peer in range(nodes) if peer != me}
    assert run.rounds == 1


def test_numbers_that_frames_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="attempt is 65536"):
        Context(b"a", 0, 1, 65536, b"r")


@three_and_four
@pytest.mark.parametrize("depth", [2, 65534])
def test_a_node_that_counts_too_many_rounds_is_named(nodes: int, depth: int) -> None:
    """Otherwise its honest neighbour has to send a depth that no frame holds, and is named."""
    x = deal_integers([1, 2], nodes=nodes)

    async def node(session: Session) -> None:
        if session.me == 0:
            session.depth = depth - 1
        await pairwise.multiply(session, x[session.me], x[session.me], label="square")
        if session.me == 0:
            return
        await opening.open_to_nodes(session, x[session.me])

    with pytest.raises(AbortError, match=f"node 0: counts {depth} messages .* in 1 rounds"):
        run_parties(node, nodes=nodes)
