"""Whether a plan is what the nodes of a sealed search opened, and nothing else left them.

Logs show that all were bound to one plan of each search; with the parts that the ledger keeps,
which plan that was, and that no other part left a node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tacit.engine.agreement import Agreement, sealed_terms
from tacit.engine.records import (
    FinishedBit,
    GenerationsBegun,
    LedgerEntry,
    Log,
    OpenedPlan,
    OwnersPlan,
    PlanReleased,
    PlanSent,
    events_of,
    join_parts,
    senders_of,
)
from tacit.errors import AbortError, LogError, UnprovenError
from tacit.mpc import held_by
from tacit.verify.answer_log import is_hash_of
from tacit.verify.claimed_plans import check_claimed, what_nodes_proved
from tacit.verify.sealed.finished import check_finished
from tacit.verify.sealed.generations import check_generations_asked, early_words
from tacit.verify.sealed.owners import check_own_parts, confirm_parts
from tacit.verify.verdict import Claim


def _check_nothing_left_out(logs: Sequence[Log], opened: set[int]) -> None:
    """A plan that a node opened should be in the ledger.

    A platform that is killed just then loses it too, so it does not prove bad intent.
    """
    sent = {event.search for log in logs for event in events_of(PlanSent, log)}
    sent |= {event.search for log in logs for event in events_of(PlanReleased, log)}
    missing = sent - opened
    if missing:
        raise UnprovenError(
            f"a node opened the plan of search {min(missing)}, which the ledger leaves out: the "
            "platform knows more than it shows, unless it was interrupted just then"
        )


def _confirm(agreement: Agreement, logs: Sequence[Log], entry: OpenedPlan) -> int:
    """How many logs show that a node sent its part of this plan."""
    searches = range(len(sealed_terms(agreement).weightings))
    nodes = len(agreement.nodes)
    if len(entry.parts) != nodes or entry.search not in searches:
        raise LogError("the ledger has not kept what the nodes sent for a plan")
    try:
        joined = join_parts(agreement, entry.search, entry.parts)
    except AbortError as error:
        raise LogError(
            f"the parts of the plan in the ledger do not fit ({error}); it was changed"
        ) from None
    said = entry.plan, entry.value, entry.outcome, entry.gap
    if (joined.plan, joined.value, joined.outcome, joined.gap) != said:
        raise LogError("the nodes opened another plan than the ledger says; it was changed")
    # Two nodes send all components, so what another sent is known whether it was kept or not.
    hashes = [hashlib.sha256(component).digest() for component in joined.components]
    holders = senders_of(entry.parts)
    sent = {
        node: [hashes[c] for c in held_by(position, len(holders))]
        for position, node in enumerate(holders)
    }
    senders: list[int] = []
    for log in logs:
        events = [event for event in events_of(PlanSent, log) if event.search == entry.search]
        found = [{n for n in holders if is_hash_of(event, sent[n])} for event in events]
        if not all(found):
            raise LogError("a node logged another part of the plan than the ledger keeps")
        senders.extend(set().union(*found))
    if len(set(senders)) < len(senders):
        raise LogError("two of the logs are of the same node; give one of each")
    return len(senders)


def check_opened(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> str:
    """The ledger must hold what the nodes opened, and nothing else."""
    if not ledger and not any(events_of(GenerationsBegun, log) for log in logs):
        return "sealed: nothing was opened"
    opened = [entry for entry in ledger if isinstance(entry, OpenedPlan)]
    for_owners = [entry for entry in ledger if isinstance(entry, OwnersPlan)]
    if opened if agreement.for_owners else for_owners:
        raise LogError("the ledger has a plan for others than was agreed; the platform changed it")
    finished = [entry for entry in ledger if isinstance(entry, FinishedBit)]
    if len(opened) + len(for_owners) + len(finished) < len(ledger):
        raise LogError(
            "the ledger has more than plans, and nothing else was agreed; the platform changed it"
        )
    check_generations_asked(logs)
    confirmed = _confirm_plans(agreement, logs, opened)
    confirmed |= confirm_parts(agreement, logs, for_owners)
    told = check_finished(agreement, logs, finished)
    _check_nothing_left_out(logs, set(confirmed))
    senders = sum(confirmed.values())
    words = "sealed: no plan was opened"
    if confirmed:
        what = "the plan was" if len(confirmed) == 1 else f"{len(confirmed)} plans were"
        words = f"sealed: only {what} opened, as {senders} parts in the logs confirm"
        if agreement.for_owners:
            words = (
                f"sealed: only {what} opened, to its owners alone, as {senders} lists of boxes in "
                "the logs confirm"
            )
    words += told
    # The platform asks for no part of the last one that is away.
    enough = min(len(agreement.nodes) - 1, len(logs))
    if senders < enough * len(confirmed):
        raise UnprovenError(
            f"{words}, and {enough} per plan would prove it; a node may have been away"
        )
    return words


def _confirm_plans(
    agreement: Agreement, logs: Sequence[Log], opened: Sequence[OpenedPlan]
) -> dict[int, int]:
    """Per search whose plan was opened, how many logs show that a node sent its part."""
    # A coordinator that was interrupted may have heard the same plan twice.
    plans = {(entry.search, tuple(entry.plan)) for entry in opened}
    if len({search for search, _ in plans}) < len(plans):
        raise LogError("the ledger has two plans of one search; a node opens one")
    confirmed = {plan.search: 0 for plan in opened}
    for plan in opened:
        found = _confirm(agreement, logs, plan)
        confirmed[plan.search] = max(confirmed[plan.search], found)
    return confirmed


def check_plan(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], claim: Claim, /
) -> str:
    """The plan must be one that was opened, after as many steps as the platform says.

    Of several, each for the weighting that it is shown for; and proved if the nodes said so.
    """
    claim.check_shown()
    check_claimed(agreement, ledger, claim)
    proved = what_nodes_proved(agreement, ledger)
    for_owners = [entry for entry in ledger if isinstance(entry, OwnersPlan)]
    if for_owners:
        if claim.plan is not None:
            raise LogError("the platform shows a plan of which it should know nothing")
        if claim.own_trouble:
            raise LogError(claim.own_trouble)
        if claim.own_parts is not None:
            check_own_parts(for_owners, claim.own_parts)
        generations = check_generations_asked(logs)
        return (
            "the nodes searched by themselves, and each owner's part is of their one plan after "
            f"{generations} steps{early_words(agreement, logs)}{proved}"
        )
    if claim.plan is None:
        return f"the nodes searched by themselves; no plan is shown{proved}"
    opened = [entry.plan for entry in ledger if isinstance(entry, OpenedPlan)]
    if not all(each.all_are_of(opened) for each in claim.told):
        raise LogError("the nodes opened another plan than this; ask the operator")
    generations = check_generations_asked(logs)
    if claim.generation != generations:
        raise LogError(
            f"the platform says that the plan is of step {claim.generation}, the logs say "
            f"{generations}; ask the operator"
        )
    return (
        f"the nodes searched by themselves, and the plan is theirs after {generations} steps"
        f"{early_words(agreement, logs)}{proved}"
    )
