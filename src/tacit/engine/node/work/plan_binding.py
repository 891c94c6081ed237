"""All nodes but one bind themselves to the same plan before a part of it leaves any of them.

Each node binds itself once per search, on its disk, and releases its part only if all of its peers
but one are bound to the same attempt. Of three nodes, any two such groups have a node in common; of
four, two, and so an honest one even if another lies. So no two plans of a search are ever released,
whoever is asked for what and whichever links are down. A peer that is bound to another attempt
objects, and is heard if it answers about as fast as the others; that also holds where one node's
disk was set back. A peer that hangs holds nothing up for longer than that.
"""

from __future__ import annotations

import asyncio

from tacit.engine.node.links.peer_line import PeerLine
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.policy import refuse
from tacit.engine.node.work.session import EPOCH_SECONDS, ComputingNode
from tacit.engine.records.events import LogFailed
from tacit.engine.wire.attempt import NO_ATTEMPT, Attempt
from tacit.engine.wire.peer_messages import Bind
from tacit.errors import LogError, PeerTimeoutError
from tacit.mpc import party_name

OBJECTION_SECONDS = 0.15
"""So long after enough peers have confirmed, the others may still object."""
_LOOK_AGAIN_SECONDS = 0.02
"""How often we look for links that came up meanwhile."""


async def confirm_binding(
    node: ComputingNode, agreement_state: AgreementState, search: int, attempt: Attempt, /
) -> None:
    """Return once all peers but one are bound to the attempt that we are, and none has objected."""
    loop = asyncio.get_running_loop()
    latest, missing = loop.time() + EPOCH_SECONDS, len(agreement_state.agreement.nodes) - 2
    asked: dict[PeerLine, asyncio.Task[Attempt]] = {}
    waiting: set[asyncio.Task[Attempt]] = set()
    try:
        while (waiting or missing > 0) and loop.time() < latest:
            for line in [line for line in _lines(node, agreement_state) if line not in asked]:
                question = line.bind(agreement_state.hash, search, attempt, timeout=EPOCH_SECONDS)
                asked[line] = loop.create_task(question)
                waiting.add(asked[line])
            if not waiting:
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                continue
            done, waiting = await asyncio.wait(
                waiting, timeout=_LOOK_AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            answers = [task.result() for task in done]
            if {*answers} - {attempt, NO_ATTEMPT}:
                raise refuse("a peer is bound to another plan of this search; one is opened")
            if missing > 0 and attempt in answers:
                missing -= answers.count(attempt)
                if missing <= 0:
                    latest = loop.time() + OBJECTION_SECONDS
    finally:
        for task in waiting:
            task.cancel()
    if missing > 0:
        raise PeerTimeoutError("the peers", "did not confirm the plan to open; start one of them")


def _lines(node: ComputingNode, agreement_state: AgreementState) -> list[PeerLine]:
    """The links to the peers whose word counts: one that is proven to cheat has none."""
    epochs = agreement_state.epochs
    cheat = party_name(epochs.lost) if epochs.lost is not None and epochs.evidence else None
    return [line for line in node.peers.lines() if line.mux.link.peer != cheat]


async def bind_for_peer(node: ComputingNode, asked: Bind, /) -> Attempt:
    """Bind this node as a peer asks; returns what it is bound to now, none if it cannot be.

    Only to a state that is here: otherwise a peer could end a search with a plan that nobody has.
    """
    agreement_state = node.agreement_states.get(asked.agreement)
    if agreement_state is None or agreement_state.ended:
        return NO_ATTEMPT
    progress = agreement_state.searches.get(asked.search)
    if progress is None or (progress.opened is None and asked.attempt not in progress.names):
        return NO_ATTEMPT
    try:
        return await progress.bind(asked.attempt)
    except LogError as error:
        node.note(LogFailed(what=str(error)))
        return NO_ATTEMPT
