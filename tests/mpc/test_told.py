"""What nodes tell all others: honest ones hear the same, and who tells two things is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.errors import AbortError, LogError, MismatchError
from tacit.mpc import Session, Told
from tacit.mpc.local import run_parties
from tacit.records.evidence import NodeSigner, read_evidence, suspects
from tests.on_nodes.fixtures import example_cast
from tests.support.telling import tell_each, tell_two

CAST = example_cast(4)
LIAR = 3


def teller(node: int) -> NodeSigner:
    return NodeSigner(CAST.agreement, "told", CAST.nodes[node].signing)


def word(node: int) -> bytes:
    return f"word {node}".encode()


def test_all_hear_the_same_and_their_own_word_too() -> None:
    async def node(session: Session) -> list[dict[int, bytes]]:
        return [await session.tell_alike(word(session.me)) for _ in range(2)]

    everything = {node: word(node) for node in range(4)}
    run = run_parties(node, nodes=4, tellers=teller)
    assert run.results == [[everything] * 2] * 4
    assert run.rounds == 4
    three = run_parties(node, nodes=3)
    assert three.results == [[{node: word(node) for node in range(3)}] * 2] * 3
    assert three.rounds == 2


@pytest.mark.parametrize("to", [0, 1, 2])
def test_a_node_that_tells_two_things_is_named_by_its_signatures(to: int) -> None:
    went_on: list[int] = []

    async def node(session: Session) -> None:
        if session.me == LIAR:
            await tell_two(session, word(LIAR), b"what n", to=to)
        else:
            await session.tell_alike(word(session.me))
            went_on.append(session.me)

    with pytest.raises(MismatchError, match="node 3") as error:
        run_parties(node, nodes=4, tellers=teller)
    assert not went_on
    assert suspects(read_evidence(CAST.agreement, error.value.evidence)) == {LIAR}


@pytest.mark.parametrize("about", [0, 32, 95])
def test_nobody_passes_on_what_another_did_not_tell(about: int) -> None:
    """Neither another word nor another signature of node 0."""

    async def node(session: Session) -> None:
        honest, told = session.tell, 0

        async def tell(message: bytes) -> dict[int, bytes]:
            nonlocal told
            told += 1
            if told == 2:
                message = message[:about] + bytes([message[about] ^ 1]) + message[about + 1 :]
            return await honest(message)

        if session.me == LIAR:
            session.tell = tell  # type: ignore[method-assign]
        await session.tell_alike(word(session.me))

    if about == 0:
        with pytest.raises(AbortError, match=r"node 3.*did not sign"):
            run_parties(node, nodes=4, tellers=teller)
    else:  # the word is right, and a signature under it was seen
        run_parties(node, nodes=4, tellers=teller)


def test_a_word_without_its_signature_is_not_passed_on() -> None:
    async def node(session: Session) -> None:
        if session.me == LIAR:
            message = word(LIAR) + bytes(64)
            await tell_each(session, dict.fromkeys(session.peers, message))
            await session.tell(bytes(4 * 96))
        else:
            await session.tell_alike(word(session.me))

    with pytest.raises(AbortError, match="node 3: told all something without its signature"):
        run_parties(node, nodes=4, tellers=teller)


def test_two_words_of_one_round_are_evidence_and_nothing_else_is() -> None:
    def told(author: int, digest: bytes, *, exchange: int = 1, by: int | None = None) -> bytes:
        made = Told(bytes(32), author, 0, exchange, digest * 32)
        return made.encode() + teller(author if by is None else by).sign(made.encode())

    def judged(*shown: bytes) -> frozenset[int]:
        return suspects(read_evidence(CAST.agreement, shown))

    assert judged(told(3, b"a"), told(3, b"b")) == {3}
    for innocent in (
        [told(3, b"a"), told(3, b"a")],
        [told(3, b"a"), told(2, b"b")],
        [told(3, b"a"), told(3, b"b", exchange=2)],
    ):
        with pytest.raises(LogError, match="do not contradict"):
            judged(*innocent)
    with pytest.raises(LogError, match="node 1 did not sign"):
        judged(told(1, b"a"), told(1, b"b", by=3))
    with pytest.raises(LogError, match="node 9 did not sign"):
        judged(told(9, b"a", by=3), told(9, b"b", by=3))
    # What was signed for letters does not count as told, nor the other way round.
    made = replace(Told.decode(told(1, b"a")[:-64]), digest=b"b" * 32)
    frame = NodeSigner(CAST.agreement, "frame", CAST.nodes[1].signing).sign(made.encode())
    with pytest.raises(LogError, match="node 1 did not sign"):
        judged(told(1, b"a"), made.encode() + frame)
