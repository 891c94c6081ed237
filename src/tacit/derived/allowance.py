"""What the operator of a node allows, and what that says of an agreement.

A node checks it when it takes an agreement. It also says what it allows when it offers a sealing
key, so that whoever drafts an agreement knows before anybody has signed it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.agreement.sizes import working_bytes
from tacit.agreement.terms import Agreement
from tacit.derived.agreed_search import may_be_followed
from tacit.errors import RefusedError
from tacit.mpc import party_name
from tacit.records.messages import Allowed

MEGABYTE = 1_000_000


def objection(agreement: Agreement, allowed: Allowed, /) -> str | None:
    """Why a node refuses an agreement by what its operator allows, or None if it does not."""
    chosen = not agreement.sealed and agreement.search.populations == "chosen"
    if chosen and not allowed.chosen_populations:
        return (
            "under this agreement the platform chooses what is evaluated, and could learn far "
            "more than by its search; let the nodes derive the populations"
        )
    if not allowed.any_search and not may_be_followed(agreement):
        return (
            "nobody measured what the agreed search gives away: take the settings of a preset, "
            "with 100 candidates or more, no fewer elites and at most two objectives, or ask the "
            "operator of the node for any_search"
        )
    needed = working_bytes(agreement)
    if needed > allowed.most_working_megabytes * MEGABYTE:
        return (
            f"the agreement needs {needed // MEGABYTE} MB of memory; this node allows "
            f"{allowed.most_working_megabytes}: make the problem or its population smaller, or "
            "ask the operator of the node"
        )
    return None


def check_nodes_allow(agreement: Agreement, allowed: Iterable[Allowed | None], /) -> None:
    """Refuse a draft that a node would refuse; of one that says nothing (None), none is known."""
    for node, each in enumerate(allowed):
        why = None if each is None else objection(agreement, each)
        if why is not None:
            raise RefusedError(party_name(node), why)
