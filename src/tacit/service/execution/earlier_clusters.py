"""Ways to the nodes that a series was with before, through whatever clusters the platform knows."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.engine.coordinator import EarlierNodes
from tacit.engine.series import SignedSeries, read_series
from tacit.service.execution.cluster_links import ClusterLinks

ASK_SECONDS = 10.0


def earlier_nodes(links: Mapping[str, ClusterLinks], signed: SignedSeries, /) -> EarlierNodes:
    """The nodes of a series that another continues; those that no cluster has are missing there."""
    clients = {}
    for number, node in enumerate(read_series(signed.data).nodes):
        found = [each.client_of(node) for each in links.values()]
        exact = [client for client, is_same_key in filter(None, found) if is_same_key]
        moved = [client for client, _ in filter(None, found)]
        if moved:
            clients[number] = (exact or moved)[0]
    return EarlierNodes(signed, clients, within=ASK_SECONDS)
