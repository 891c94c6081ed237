"""Before an agreement is drafted: the nodes draw the keys that its participants will seal to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tacit.agreement.sealing_offer import is_offered
from tacit.agreement.terms import NodeTerms
from tacit.coordinator.node_client import CONNECT_SECONDS, NodeClient
from tacit.equity import FIRST_HEAD
from tacit.errors import EngineError, PeerTimeoutError
from tacit.wire.messages import OfferSealingKey
from tacit.wire.replies import Allowed


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """A node with the sealing key that it offers, and which agreements it would take."""

    node: NodeTerms
    allows: Allowed | None
    """None for a node that does not say it."""
    head: str = ""
    """Of the counted runs of the series that was asked for; empty if the node does not know it."""
    counted: int = 0
    """The last run that it has counted there."""


def head_of_series(offers: Iterable[NodeOffer], /) -> str:
    """The head that the next run has to name: that of the node which has counted most.

    A node that lacks the last run has prepared it, and counts it when it hears of the next.
    """
    known = [each for each in offers if each.head]
    return max(known, key=lambda each: each.counted).head if known else FIRST_HEAD


async def ask_for_sealing_keys(
    clients: Iterable[NodeClient],
    nodes: Sequence[NodeTerms],
    /,
    *,
    nonce: str,
    platform: str,
    within: float,
    series: str | None = None,
) -> list[NodeOffer]:
    """The nodes with the sealing keys that they offer for the agreement with this nonce.

    `platform` is the fingerprint of the certificate that the agreement will name, and `series` the
    one that it is a run of, where balances count.
    """
    request = OfferSealingKey(nonce=nonce, platform=platform, signing_key="0" * 64, series=series)
    until = asyncio.get_running_loop().time() + within
    async with asyncio.timeout_at(until):
        pairs = zip(clients, nodes, strict=True)
        asked = (_ask(client, node, request, until) for client, node in pairs)
        return list(await asyncio.gather(*asked))


async def _connect(client: NodeClient, until: float) -> None:
    """Connect to a node that may only be busy: it has all of the time."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            await client.connect()
            return
        except PeerTimeoutError:
            if loop.time() + CONNECT_SECONDS > until:
                raise  # it names the node


async def _ask(
    client: NodeClient, node: NodeTerms, request: OfferSealingKey, until: float
) -> NodeOffer:
    await _connect(client, until)
    nonce, platform = request.nonce, request.platform
    request = replace(request, signing_key=node.signing_key)
    offer = await (await client.ask(request))
    made = replace(node, sealing_key=offer.sealing_key, sealing_signature=offer.signature)
    if not is_offered(made, nonce=nonce, platform=platform):
        raise EngineError(
            f"{client.name} did not sign its sealing key with the key that cluster.toml gives it; "
            "compare signing_key with what tacit keys show prints at the node"
        )
    return NodeOffer(made, offer.allows, offer.head, offer.counted)
