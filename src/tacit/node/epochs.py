"""Begin an epoch: agree on fresh keys, then exchange what is used up before any is drawn from.

Each node sends what it has used up, and what it remembers of the others' logs. A node whose log
does not contain that was set back, and the epoch does not begin with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from tacit.errors import AbortError, RefusedError
from tacit.mpc import agree_epoch, open_conversations, party_name
from tacit.mpc.transport import Channel, Conversation, FrameKind
from tacit.node.agreement_state import AgreementState
from tacit.node.computation import EPOCH_SECONDS
from tacit.node.epoch_state import HeardOfLogs
from tacit.node.policy import refuse
from tacit.records.events import AgreementBroken
from tacit.records.log import LogHead
from tacit.records.messages import EpochOpened, OpenEpoch
from tacit.records.peer_messages import (
    AnswersTold,
    EpochBegins,
    LogReached,
    PeerMessage,
    decode_peer_message,
    encode_peer_message,
)

if TYPE_CHECKING:
    from tacit.node.server import Node

M = TypeVar("M", bound=PeerMessage)


async def open_epoch(node: Node, state: AgreementState, request: OpenEpoch) -> EpochOpened:
    """Agree on fresh keys; take over the highest evaluation number, and plans that are bound."""
    epochs, counters = state.epochs, state.counters
    if request.without is None:
        epochs.check_all_can_go_on()
        await epochs.of_three.settled()
        # Again: while this waited, the lost node may have been proven to cheat.
        epochs.check_all_can_go_on()
    elif request.evidence:
        epochs.check_proven(request.without, node.number, request.evidence)
    else:
        epochs.check_without(request.without, node.number)
        # No one node's word removes another, nor does the platform's: this node looks for itself.
        grace = state.agreement.grace_seconds
        if not await node.peers.is_gone(request.without, grace=grace):
            raise refuse(f"{party_name(request.without)} answers {node.name}; it is not gone")
        # Again: another may have been lost while this waited, and one at most may be.
        epochs.check_without(request.without, node.number)
    # The number is used up before the keys exist: whatever fails from here on, no attempt of a
    # later epoch has the name of one of this epoch.
    epochs.begin(request.epoch)
    node.end_epoch(state.hash)
    muxes = await node.peers.all(timeout=EPOCH_SECONDS, without=request.without)
    name = state.hash[:16]
    epoch = await agree_epoch(
        node.number, muxes, number=request.epoch, agreement=name, timeout=EPOCH_SECONDS
    )
    try:
        channel = Channel(name, evaluation=request.epoch, kind=FrameKind.CONTROL)
        async with open_conversations(muxes, channel) as talks:
            heard = await _exchange_state(node, state, talks)
        # Only now, when each has what it needs: whoever refuses keeps nobody waiting.
        for peer, about_logs in heard.items():
            _check_logs(node, state, peer, about_logs)
        if epochs.last != request.epoch:
            raise AbortError(node.name, "a newer epoch has begun meanwhile")
        epochs.opened(request.epoch, request.without, request.evidence)
    except BaseException:
        epoch.close()
        raise
    node.epochs[state.hash, request.epoch] = epoch
    return EpochOpened(
        id=request.id,
        numbers={k: counter.highest for k, counter in counters.by_objective.items()},
        parent_attempts={k: best.newest for k, best in counters.bests.items() if best.newest},
        kept={k: best.available for k, best in counters.bests.items()},
        states=state.sealed_states(),
        lost=epochs.lost,
    )


def _check_logs(node: Node, state: AgreementState, peer: int, heard: HeardOfLogs) -> None:
    """End it where a log was set back; the node's own log has it once, for the operator."""
    peers = state.epochs.peers
    try:
        peers.check(peer, heard, me=node.number)
    except (RefusedError, AbortError) as error:
        if not peers.is_reported:
            why = error.reason if isinstance(error, RefusedError) else str(error)
            node.note(AgreementBroken(state.hash.hex(), why))
            peers.is_reported = True
        raise


async def _exchange_state(
    node: Node, state: AgreementState, talks: Mapping[int, Conversation]
) -> dict[int, HeardOfLogs]:
    """Exchange with the peers what is used up, how far logs are, and missing answers. 3 rounds."""
    epochs, peers = state.epochs, state.epochs.peers
    ours = {peer: await epochs.tell(peer) for peer in talks}
    used_up = await _exchange(talks, 1, ours, EpochBegins)
    await epochs.hear(list(used_up.values()))
    remembered = {peer: LogHead(theirs.size, theirs.head) for peer, theirs in used_up.items()}
    # After `hear`, which appends to the log: what is signed here includes it.
    own = peers.own()
    signature = own.sign(node.own_keys.signing(state.agreement), state.hash)
    reached = {
        peer: LogReached(peers.contains(head), own.size, own.head, signature)
        for peer, head in remembered.items()
    }
    answers = await _exchange(talks, 2, reached, LogReached)
    missing = {peer: await epochs.tell_missing(theirs) for peer, theirs in used_up.items()}
    received = await _exchange(talks, 3, missing, AnswersTold)
    await epochs.hear_missing([(ours[peer], theirs) for peer, theirs in received.items()])
    return {
        peer: HeardOfLogs(
            remembered[peer],
            used_up[peer].signature,
            LogHead(theirs.size, theirs.head),
            theirs.signature,
            theirs.contained,
        )
        for peer, theirs in answers.items()
    }


async def _exchange(
    talks: Mapping[int, Conversation], depth: int, ours: Mapping[int, PeerMessage], kind: type[M]
) -> dict[int, M]:
    """Send each peer a message, and receive one of the same kind from it. 1 round."""
    for peer, talk in talks.items():
        await talk.send(depth, encode_peer_message(ours[peer]), timeout=EPOCH_SECONDS)
    heard: dict[int, M] = {}
    for peer, talk in talks.items():
        frame = await talk.receive(timeout=EPOCH_SECONDS)
        theirs = decode_peer_message(frame.payload, peer=party_name(peer))
        if not isinstance(theirs, kind):
            raise AbortError(party_name(peer), "did not tell what an epoch begins with")
        heard[peer] = theirs
    return heard
