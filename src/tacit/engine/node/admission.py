"""Which agreements a node takes: with whom it knows, and what its operator allows."""

from __future__ import annotations

from tacit.engine.agreement.terms import Agreement
from tacit.engine.derived import may_be_followed
from tacit.engine.identity.config import NodeConfig
from tacit.engine.node.parties import Parties
from tacit.engine.node.state.policy import refuse


def check_parties(agreement: Agreement, platform: str, parties: Parties, /) -> None:
    """Refuse an agreement with other nodes than we know, or of another platform."""
    if len(agreement.nodes) != parties.nodes:
        raise refuse(
            f"the agreement names {len(agreement.nodes)} nodes and this cluster has "
            f"{parties.nodes}; name all of them"
        )
    for node, terms in enumerate(agreement.nodes):
        if not parties.knows(node, terms.certificate):
            raise refuse(
                f"the agreement gives node {node} another certificate than we know; if it was "
                "rotated, give its new .pem to the platform and to all nodes"
            )
    if not parties.are_one_platform(agreement.platform, platform):
        raise refuse("the agreement is with another platform than the one that sends it")


def check_allowed(agreement: Agreement, config: NodeConfig, /) -> None:
    """Refuse a search that gives away more than was measured, unless the operator allows it."""
    chosen = not agreement.sealed and agreement.search.populations == "chosen"
    if chosen and not config.chosen_populations:
        raise refuse(
            "under this agreement the platform chooses what is evaluated, and could learn far "
            "more than by its search; let the nodes derive the populations"
        )
    if not config.any_search and not may_be_followed(agreement):
        raise refuse(
            "nobody measured what the agreed search gives away: take the settings of a preset, "
            "with 100 candidates or more and at most two objectives, or ask the operator of the "
            "node for any_search"
        )
