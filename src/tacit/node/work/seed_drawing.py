"""The draw of the seed contribution, after the inputs are frozen: 2 rounds, 64 bytes to each peer.

Each node tells the others what it has frozen, on its disk: the manifests, and what all nodes are
bound to. Only when it has heard the same from all does it open its own contribution. So
whoever sees a contribution sees it when nothing can be changed any more: stopping then ends the
run, and gives no other draw, since no node ever draws again.
"""

from __future__ import annotations

import hashlib

from tacit.errors import LogError
from tacit.mpc import Session
from tacit.node.state.inputs import Inputs
from tacit.node.state.policy import refuse


async def draw_seed(session: Session, inputs: Inputs, objective: int, /) -> None:
    """Have all contributions opened, once all nodes have frozen the same."""
    frozen = inputs.frozen[objective]
    text = "\n".join([frozen.manifests, *frozen.commitments])
    here = hashlib.sha256(b"tacit frozen/1\n" + text.encode()).digest()
    for peer, there in (await session.tell(here)).items():
        if there != here:
            raise refuse(f"{session.name_of(peer)} has frozen other inputs; make a new agreement")
    opened = await session.tell(inputs.contribution(objective))
    opened[session.me] = inputs.contribution(objective)
    try:
        inputs.draw(objective, [opened[node] for node in range(session.nodes)])
    except LogError as error:
        raise refuse(str(error)) from None
