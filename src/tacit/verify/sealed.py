"""Whether a sealed search went as agreed, and the plan is what the nodes opened.

There is no population to compute again: the nodes searched themselves. What logs show is that all
were asked for the same generations, one after the other, and that all were bound to one plan of
each search; with the parts that the ledger keeps, which plan that was, and that no other part left
a node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement import Agreement, sealed_terms
from tacit.engine.records import (
    FORBIDDEN_PAIRS,
    BuiltOnThree,
    Event,
    FinishedBit,
    GenerationsBegun,
    ImprovementBits,
    ImprovementsSent,
    LedgerEntry,
    Log,
    OpenedPlan,
    OwnersPlan,
    PlanBound,
    PlanReleased,
    PlanSent,
    join_parts,
    senders_of,
)
from tacit.errors import AbortError, LogError, PeerError, UnprovenError
from tacit.mpc import Session, held_by, receive_again, receive_opened
from tacit.verify.answer_log import digests_of, is_hash_of
from tacit.verify.claimed_plans import (
    check_claimed,
    check_left_out,
    what_nodes_proved,
)
from tacit.verify.finished import check_finished
from tacit.verify.loss import fits_loss, phase_of_three, throughout, took_part
from tacit.verify.owners import check_own_parts, confirm_parts
from tacit.verify.two_parts import are_two_parts, xor_of_two_parts
from tacit.verify.verdict import Claim

E = TypeVar("E", bound=Event)
_Run = tuple[int, int, int, int | None]
"""Generations that were asked for: the first, how many, of how many, and the turn before them."""


def _of(kind: type[E], log: Log) -> list[E]:
    return [event for event in log if isinstance(event, kind)]


def check_generations_asked(logs: Sequence[Log], /) -> int:
    """How many generations the plans come from, or were begun; all nodes were asked for the same.

    What was asked for last may not have reached all of them, if no plan was opened after it: no
    node computes it alone. One that was lost was not asked meanwhile, and goes on where the others
    are once it is back.
    """
    steady = [id(log) for log in throughout(logs)]
    courses = [_course(log, gaps=id(log) not in steady) for log in logs]
    searches = {search for course in courses for search in course}
    if not searches:
        raise LogError("the log has no sealed search; give the log of this agreement")
    generations = 0
    # Of searches that go on together, the first is asked for.
    for search in {e.search for log in logs for e in _of(PlanBound, log)} - searches:
        _opened_after(logs, search)
    for search in sorted(searches):
        opened = _opened_after(logs, search)
        runs = [course.get(search, []) for course in courses]
        longest = max(runs, key=len)
        for each, log in zip(runs, logs, strict=True):
            if id(log) in steady:
                fits = each == longest[: len(each)] and len(each) >= len(longest) - 1
                fits = fits and _end(each) >= (opened or 0)
            else:
                fits = each == [run for run in longest if run in each]
            if not fits:
                raise LogError(
                    "the nodes were asked for different generations; their logs disagree"
                )
        generations += _end(longest) if opened is None else opened
    return generations


def _end(runs: Sequence[_Run]) -> int:
    return max((first + count for first, count, *_ in runs), default=0)


def _opened_after(logs: Sequence[Log], search: int) -> int | None:
    """After which generation the plan of a search was opened, if it was: once."""
    bound = {e.attempt for log in logs for e in _of(PlanBound, log) if e.search == search}
    if len(bound) > 1:
        raise LogError(f"the nodes were asked for two plans of search {search}; one is opened")
    return bound.pop().number if bound else None


def _check_nothing_left_out(
    logs: Sequence[Log], opened: set[int], improvements: set[tuple[int, int]]
) -> None:
    """A plan that a node opened, and improvements that all disclosed, should be in the ledger.

    A platform that is killed just then loses them too, so it does not prove bad intent.
    """
    sent = {event.search for log in logs for event in _of(PlanSent, log)}
    sent |= {event.search for log in logs for event in _of(PlanReleased, log)}
    missing = sent - opened
    if missing:
        raise UnprovenError(
            f"a node opened the plan of search {min(missing)}, which the ledger leaves out: the "
            "platform knows more than it shows, unless it was interrupted just then"
        )
    bits = [{(e.search, e.number) for e in _of(ImprovementsSent, log)} for log in logs]
    hidden = sorted(set.intersection(*bits) - improvements) if bits else []
    if hidden:
        raise UnprovenError(
            f"the nodes disclosed improvements after generation {hidden[0][1] - 1}, which the "
            "ledger leaves out: the platform knows more than it shows, unless it was "
            "interrupted just then"
        )


def _course(log: Log, *, gaps: bool) -> dict[int, list[_Run]]:
    """Per search the generations that were begun, repetitions left out.

    Without `gaps`, unless it builds on what others computed meanwhile.
    """
    handed = {event.attempt for event in _of(BuiltOnThree, log)} if gaps else set()
    course: dict[int, list[_Run]] = {}
    for event in _of(GenerationsBegun, log):
        runs = course.setdefault(event.search, [])
        run = (event.first, event.count, event.horizon, event.turn)
        if run in runs:
            continue
        follows = run[0] == (runs[-1][0] + runs[-1][1] if runs else 0)
        turned = runs[-1][3] if runs else None
        # The finish begins where the search ended, once, and nothing else follows it.
        follows = follows and event.turn in ((None, event.first) if turned is None else (turned,))
        if not follows and event.attempt not in handed:
            raise LogError(
                f"generations after {run[0]} do not follow the earlier ones; ask its operator"
            )
        runs.append(run)
    return course


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
    said = entry.plan, entry.value, _as_now(entry, joined.outcome), entry.gap
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
        events = [event for event in _of(PlanSent, log) if event.search == entry.search]
        found = [{n for n in holders if is_hash_of(event, sent[n])} for event in events]
        if not all(found):
            raise LogError("a node logged another part of the plan than the ledger keeps")
        senders.extend(set().union(*found))
    if len(set(senders)) < len(senders):
        raise LogError("two of the logs are of the same node; give one of each")
    return len(senders)


def _as_now(entry: OpenedPlan, word: str | None) -> str | None:
    """What is proved; ledgers of before call a plan with forbidden pairs feasible too."""
    return word if (entry.outcome, word) == ("feasible", FORBIDDEN_PAIRS) else entry.outcome


def _bits(entry: ImprovementBits) -> list[int]:
    """The bits that the parts in the ledger add up to; none if they do not fit."""
    parts = [dict(p) for node, p in enumerate(entry.parts) if node != entry.without]

    def receive(session: Session) -> Awaitable[NDArray[Any]]:
        return receive_opened(session, len(entry.improved), dtype=np.uint8, xor=True)

    try:
        bits = (
            xor_of_two_parts(parts, 0, "u1")
            if are_two_parts(parts)
            else receive_again(parts, receive)
        )
    except PeerError:
        return []
    return [int(bit) for bit in bits]


def _confirm_bits(agreement: Agreement, logs: Sequence[Log], entry: ImprovementBits) -> None:
    """The bits must be those of their parts, of generations that were asked for."""
    there = took_part(logs, entry.without)
    counts = {
        event.count
        for log in logs
        for event in _of(GenerationsBegun, log)
        if (event.search, event.first + 1, event.request)
        == (entry.search, entry.number, entry.request)
    }
    complete = len(entry.parts) == len(agreement.nodes) and counts == {len(entry.improved)}
    if not complete or _bits(entry) != [*map(int, entry.improved)]:
        raise LogError(
            f"the ledger has other improvements after generation {entry.number - 1} than the nodes "
            "sent; it was changed"
        )
    parts = [digests_of(part) for part in entry.parts]
    for log in there:
        events = [
            event
            for event in _of(ImprovementsSent, log)
            if (event.search, event.number) == (entry.search, entry.number)
        ]
        phase = phase_of_three(log)
        fitting = [e for e in events if fits_loss(phase, entry.without, e.attempt)]
        if events and not any(is_hash_of(event, part) for event in fitting for part in parts):
            raise LogError(
                f"a node logged other improvements after generation {entry.number - 1}; the "
                "ledger was changed"
            )


def check_asked(logs: Sequence[Log], /) -> str:
    """All nodes must have been asked for the same generations.

    The temperature follows from how many the platform says there will be. Whoever learns of
    improvements could steer by it; one that keeps to its deadline names numbers that settle down.
    """
    asked = [event for log in logs for event in _of(GenerationsBegun, log)]
    horizons = list(dict.fromkeys(event.horizon for event in asked if event.turn is None))
    if not asked:
        return "no generation was asked for"
    shown = [str(each) for each in horizons]
    if len(shown) > 8:
        shown = [*shown[:4], "...", *shown[-3:]]
    ends: dict[tuple[int, int], int] = {}
    for event in asked:
        if event.turn is not None:
            each = event.search, event.turn
            ends[each] = max(ends.get(each, 0), event.first + event.count - event.turn)
    finish = f", the last {sum(ends.values())} of them phases of the finish" if ends else ""
    return (
        f"all nodes were asked for the same {check_generations_asked(logs)} generations{finish}; "
        f"the temperature follows from how many the platform expected: {', '.join(shown)}"
    )


def check_opened(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> str:
    """The ledger must hold what the nodes opened, and nothing else."""
    if not ledger and not any(_of(GenerationsBegun, log) for log in logs):
        return "sealed: nothing was opened"
    opened = [entry for entry in ledger if isinstance(entry, OpenedPlan)]
    for_owners = [entry for entry in ledger if isinstance(entry, OwnersPlan)]
    if opened if agreement.for_owners else for_owners:
        raise LogError("the ledger has a plan for others than was agreed; the platform changed it")
    improvements = [entry for entry in ledger if isinstance(entry, ImprovementBits)]
    finished = [entry for entry in ledger if isinstance(entry, FinishedBit)]
    discloses_bits = agreement.objectives[0].best == "improvement"
    agreed = len(opened) + len(for_owners) + len(improvements) + len(finished)
    if agreed < len(ledger) or (improvements and not discloses_bits):
        raise LogError(
            "the ledger has more than plans, and nothing else was agreed; the platform changed it"
        )
    check_generations_asked(logs)
    confirmed = _confirm_plans(agreement, logs, opened)
    confirmed |= confirm_parts(agreement, logs, for_owners)
    for entry in improvements:
        _confirm_bits(agreement, logs, entry)
    told = check_finished(agreement, logs, finished)
    _check_nothing_left_out(logs, set(confirmed), {(e.search, e.number) for e in improvements})
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
    bits = {(entry.search, entry.number): len(entry.improved) for entry in improvements}
    if bits:
        words += f"; besides, {sum(bits.values())} times whether the best had improved"
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
    """The plan must be one that was opened, after as many generations as the platform says.

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
            f"{generations} generations{proved}"
        )
    if claim.plan is None:
        return f"the nodes searched by themselves; no plan is shown{proved}"
    opened = [entry.plan for entry in ledger if isinstance(entry, OpenedPlan)]
    if not all(each.all_are_of(opened) for each in claim.told):
        raise LogError("the nodes opened another plan than this; ask the operator")
    generations = check_generations_asked(logs)
    if claim.generation != generations:
        raise LogError(
            f"the platform says that the plan is of generation {claim.generation}, the logs say "
            f"{generations}; ask the operator"
        )
    return (
        f"the nodes searched by themselves, and the plan is theirs after {generations} generations"
        f"{proved}{check_left_out(agreement, ledger)}"
    )
