"""The draw of the seed contribution, after the inputs are frozen: 2 rounds, 64 bytes to each peer.

Each node tells the others what it has frozen, on its disk: the manifests, and what the three nodes
are bound to. Only when it has heard the same from both does it open its own contribution. So
whoever sees a contribution sees it when nothing can be changed any more: stopping then ends the
run, and gives no other draw, since no node ever draws again.
"""

from __future__ import annotations

import hashlib

import numpy as np

from tacit.engine.node.state.inputs import Inputs
from tacit.engine.node.state.policy import refuse
from tacit.errors import LogError
from tacit.mpc import NODES, Session


async def draw_seed(session: Session, inputs: Inputs, objective: int, /) -> None:
    """Have all three contributions opened, once all three nodes have frozen the same."""
    frozen = inputs.frozen[objective]
    text = "\n".join([frozen.manifests, *frozen.commitments])
    here = hashlib.sha256(b"tacit frozen/1\n" + text.encode()).digest()
    for peer, there in (await _exchange(session, here)).items():
        if there != here:
            raise refuse(f"{session.name_of(peer)} has frozen other inputs; make a new agreement")
    opened = await _exchange(session, inputs.contribution(objective))
    opened[session.me] = inputs.contribution(objective)
    try:
        inputs.draw(objective, [opened[node] for node in NODES])
    except LogError as error:
        raise refuse(str(error)) from None


async def _exchange(session: Session, ours: bytes) -> dict[int, bytes]:
    """Send the same to both peers, and receive as much from each. 1 round."""
    message, heard = np.frombuffer(ours, dtype=np.uint8), {}
    for peer in (session.next, session.previous):
        await session.send(peer, message)
    for peer in (session.next, session.previous):
        heard[peer] = (await session.receive(peer, len(message), np.uint8)).tobytes()
    return heard
