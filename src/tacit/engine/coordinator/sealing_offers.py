"""Before an agreement is drafted: the nodes draw the keys that its participants will seal to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tacit.engine.agreement.sealing_offer import is_offered
from tacit.engine.agreement.terms import NodeTerms
from tacit.engine.coordinator.node_client import NodeClient
from tacit.engine.wire.messages import OfferSealingKey
from tacit.engine.wire.replies import Allowed
from tacit.errors import EngineError


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """A node with the sealing key that it offers, and which agreements it would take."""

    node: NodeTerms
    allows: Allowed | None
    """None for a node that does not say it."""


async def ask_for_sealing_keys(
    clients: Iterable[NodeClient],
    nodes: Sequence[NodeTerms],
    /,
    *,
    nonce: str,
    platform: str,
    within: float,
) -> list[NodeOffer]:
    """The nodes with the sealing keys that they offer for the agreement with this nonce.

    `platform` is the fingerprint of the certificate that the agreement will name.
    """
    async with asyncio.timeout(within):
        asked = (
            _ask(client, node, nonce, platform) for client, node in zip(clients, nodes, strict=True)
        )
        return list(await asyncio.gather(*asked))


async def _ask(client: NodeClient, node: NodeTerms, nonce: str, platform: str) -> NodeOffer:
    await client.connect()
    request = OfferSealingKey(nonce=nonce, platform=platform, signing_key=node.signing_key)
    offer = await (await client.ask(request))
    made = replace(node, sealing_key=offer.sealing_key, sealing_signature=offer.signature)
    if not is_offered(made, nonce=nonce, platform=platform):
        raise EngineError(
            f"{client.name} did not sign its sealing key with the key that cluster.toml gives it; "
            "compare signing_key with what tacit keys show prints at the node"
        )
    return NodeOffer(made, offer.allows)
