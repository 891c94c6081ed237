"""Which agreements a node takes: with whom it knows, and what its operator allows."""

from __future__ import annotations

from tacit.agreement.terms import Agreement
from tacit.derived import objection
from tacit.identity.config import NodeConfig
from tacit.node.parties import Parties
from tacit.node.state.policy import refuse
from tacit.wire.replies import Allowed


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


def allowed_by(config: NodeConfig, /) -> Allowed:
    """What the operator allows, as the node tells it to platforms."""
    return Allowed(
        any_search=config.any_search,
        chosen_populations=config.chosen_populations,
        most_working_megabytes=config.most_working_megabytes,
    )


def check_allowed(agreement: Agreement, config: NodeConfig, /) -> None:
    """Refuse what gives away more than was measured, or needs too much, by the operator's word."""
    why = objection(agreement, allowed_by(config))
    if why is not None:
        raise refuse(why)
