"""Check the logs of a sealed run: the steps that were asked for, and plans opened to their owners.

There is no population to compute again: the nodes searched themselves. All nodes must have been
asked for the same steps, and for none twice. Where it is agreed to open whether all plans are
proved, a batch of steps ends there, all nodes say the same of it, and no step follows once they
are.

Nothing of a plan for its owners is in logs and ledger. What they show is that all nodes were bound
to one plan, to the same components of it and to their lists of boxes, before any box left a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tacit.agreement import Agreement, PlanHeads
from tacit.errors import LogError, UnprovenError
from tacit.mpc import held_by, left_without
from tacit.records import (
    BatchBegun,
    BuiltOnThree,
    Disclosed,
    DisclosedProof,
    DisclosedToOwners,
    DisclosureKind,
    HeardBoxes,
    Log,
    PlanDecided,
    PlanSealed,
    Sent,
    StartDrawn,
    events_of,
)
from tacit.verify.logs import lost_by, throughout

_Run = tuple[int, int, int]
"""Steps that were asked for: the first, how many, and of how many."""
_Step = tuple[int, int]
"""A group of searches, by the first of them, and a number of steps."""


def check_asked(logs: Sequence[Log], /) -> str:
    """Check that all nodes were asked for the same steps.

    The temperature of a tour follows from how many the platform says there will be.
    """
    asked = [event for log in logs for event in events_of(BatchBegun, log)]
    horizons = list(dict.fromkeys(event.horizon for event in asked))
    if not asked:
        return "no step was asked for"
    shown = [str(each) for each in horizons]
    if len(shown) > 8:
        shown = [*shown[:4], "...", *shown[-3:]]
    return (
        f"all nodes were asked for the same {check_generations_asked(logs)} steps, of as many as "
        f"the platform expected: {', '.join(shown)}"
    )


def check_generations_asked(logs: Sequence[Log], /) -> int:
    """Return how many steps the plans come from; all nodes were asked for the same.

    What was asked for last may not have reached all of them, if no plan was opened after it: no
    node computes it alone. One that was lost was not asked meanwhile, and goes on where the others
    are once it is back.
    """
    steady = [id(log) for log in throughout(logs)]
    courses = [_course(log, gaps=id(log) not in steady) for log in logs]
    searches = {search for course in courses for search in course}
    # A deadline may come before the first step: then the plan is the one that was drawn.
    if not searches and not any(events_of(StartDrawn, log) for log in logs):
        raise LogError("the log has no sealed search; give the log of this agreement")
    generations = 0
    # Of searches that go on together, the first is asked for.
    for search in {e.search for log in logs for e in events_of(PlanDecided, log)} - searches:
        _opened_after(logs, search)
    for search in sorted(searches):
        opened = _opened_after(logs, search)
        runs = [course.get(search, []) for course in courses]
        longest = max(runs, key=len)
        for each, log in zip(runs, logs, strict=True):
            if id(log) in steady:
                # What was asked for last may have reached some nodes only: none computes it alone.
                fits = each == longest[: len(each)] and len(each) >= len(longest) - 1
                fits = fits and _end(each) >= (opened or 0)
            else:
                fits = each == [run for run in longest if run in each]
            if not fits:
                raise LogError("the nodes were asked for different steps; their logs disagree")
        generations += _end(longest) if opened is None else opened
    return generations


def early_words(agreement: Agreement, logs: Sequence[Log], /) -> str:
    """Say that a plan was opened before the least iterations; empty if none was.

    By its own clock a node allows that when the deadline has come. A platform that lets it come
    learns from an early plan which of the first changes were worth it.
    """
    if not agreement.is_exact:
        return ""
    run = agreement.sealed_run
    proved = {at for at, finished in _told(logs) if finished}
    early = []
    for event in (event for log in logs for event in events_of(PlanDecided, log)):
        first, number = run.group_of(event.search).searches[0], event.attempt.number
        if number < run.least_steps and (first, number) not in proved:
            early.append(number)
    if not early:
        return ""
    return (
        f" (one was opened after {min(early)}, and no fewer than {run.least_steps} were agreed on "
        "unless the deadline comes first, as the nodes say that it did)"
    )


def agreed_checkpoints(agreement: Agreement, /) -> set[_Step]:
    run = agreement.sealed_run
    return {(group.searches[0], step) for group in run.groups for step in run.checkpoints}


def _told(logs: Sequence[Log]) -> list[tuple[_Step, bool]]:
    """Return after which steps nodes heard whether all was proved."""
    return [
        ((event.about, event.attempt.number), event.known.finished)
        for log in logs
        for event in events_of(Sent, log)
        if isinstance(event.known, DisclosedProof)
    ]


def check_told(agreement: Agreement, logs: Sequence[Log], /) -> dict[_Step, bool]:
    """Check that nodes heard the same after each step, and begin no step once all is proved."""
    agreed, found = agreed_checkpoints(agreement), dict[_Step, bool]()
    if any(
        (each.kind is DisclosureKind.PROVED) != isinstance(each.known, DisclosedProof)
        for log in logs
        for each in events_of(Sent, log)
    ):
        raise LogError("a node does not say whether it heard that all was proved; ask its operator")
    for at, finished in _told(logs):
        # The bit is opened to all nodes at once, so they cannot honestly differ.
        if found.setdefault(at, finished) != finished:
            raise LogError(
                f"nodes say both that all was proved after step {at[1]} and that it was not; one "
                "of them lies"
            )
    for event in (each for log in logs for each in events_of(BatchBegun, log)):
        first, end = event.first, event.first + event.count
        if any(search == event.search and first < step < end for search, step in agreed):
            raise LogError(f"steps {first + 1} to {end} go beyond a checkpoint; ask the operator")
        over = [step for (search, step), yes in found.items() if yes and search == event.search]
        # Once all is proved a further step could only show more of how the search went.
        if over and first >= min(over):
            raise LogError(f"steps were begun after all was proved, after step {min(over)}")
    return found


def check_all_told(
    agreement: Agreement, logs: Sequence[Log], told: Mapping[_Step, bool], /
) -> None:
    """Check that a log has what was disclosed after every checkpoint that was begun.

    The bit is out before a node logs it, so that a node which is stopped just then has no line. If
    the step was done again, the word was the same, and is in the logs.
    """
    begun = (each for log in logs for each in events_of(BatchBegun, log))
    ends = {(event.search, event.first + event.count) for event in begun}
    if missing := sorted((ends & agreed_checkpoints(agreement)) - set(told)):
        raise UnprovenError(
            f"the nodes began what ends with step {missing[0][1]}, after which it is told whether "
            "all is proved, and no log says what was told: it was interrupted, or the platform "
            "knows more than it shows"
        )


def _end(runs: Sequence[_Run]) -> int:
    return max((first + count for first, count, _ in runs), default=0)


def _opened_after(logs: Sequence[Log], search: int) -> int | None:
    """Return after which step the plan of a search was opened, if it was: once."""
    opened = {
        e.attempt for log in logs for e in events_of(PlanDecided, log) if search in e.searches
    }
    if len(opened) > 1:
        raise LogError(f"the nodes were asked for two plans of search {search}; one is opened")
    return opened.pop().number if opened else None


def _course(log: Log, *, gaps: bool) -> dict[int, list[_Run]]:
    """Return the steps that were begun per search, repetitions left out.

    Without `gaps`, unless it builds on what others computed meanwhile.
    """
    # A node that is back gets the state of the three, and goes on behind a gap.
    handed = {event.attempt for event in events_of(BuiltOnThree, log)} if gaps else set()
    course: dict[int, list[_Run]] = {}
    for event in events_of(BatchBegun, log):
        runs = course.setdefault(event.search, [])
        run = (event.first, event.count, event.horizon)
        if run in runs:
            continue
        follows = run[0] == (runs[-1][0] + runs[-1][1] if runs else 0)
        if not follows and event.attempt not in handed:
            raise LogError(f"steps after {run[0]} do not follow the earlier ones; ask its operator")
        runs.append(run)
    return course


Seen = Mapping[int, Mapping[int, PlanHeads]]
"""Per search and node, what a participant's boxes were bound to."""


def check_boxes(agreement: Agreement, logs: Sequence[Log], ledger: Iterable[Disclosed], /) -> None:
    """Check that ledger and logs have the same hashes of a plan for its owners."""
    for entry in ledger:
        if isinstance(entry.payload, DisclosedToOwners):
            _check_heads(agreement, logs, entry, entry.payload.heads)
            for log in logs:
                _check_releases(log, entry, entry.payload.heads)


def _check_heads(
    agreement: Agreement,
    logs: Sequence[Log],
    entry: Disclosed,
    heads_of_nodes: Sequence[PlanHeads | None],
) -> None:
    """Check that all holders of a component are bound to the same."""
    nodes = len(agreement.nodes)
    if len(heads_of_nodes) != nodes:
        raise LogError(f"the ledger has not kept what binds the nodes to {entry.words}")
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    roots: dict[int, tuple[int, str]] = {}
    for node, heads in enumerate(heads_of_nodes):
        if heads is None:
            continue
        of_all = len(heads.commitments) == nodes - 1
        members = left_without(nodes, None if of_all else lost)
        if node not in members or len(heads.commitments) != len(members) - 1:
            raise LogError(f"node {node} is bound to parts of a plan that it cannot hold")
        held = held_by(members.index(node), len(members))
        for component, root in zip(held, heads.commitments, strict=True):
            other, known = roots.setdefault(component, (node, root))
            # Equal nonces give equal commitments, so holders of one component differ only if one
            # lies.
            if known != root:
                raise LogError(
                    f"nodes {other} and {node} are bound to different numbers as component "
                    f"{component} of the plan; one of them lies"
                )


def _check_releases(log: Log, entry: Disclosed, heads_of_nodes: Sequence[PlanHeads | None]) -> None:
    """Check that a node released the boxes of the ledger, and was bound to them before."""
    decided = [event for event in events_of(PlanDecided, log) if entry.about in event.searches]
    if any(each.attempt != entry.attempt for each in decided):
        raise LogError("a node was bound to another plan than the ledger says")
    # Before all agreed on this one, a node may have sealed its parts of another.
    sealed = [
        event
        for event in events_of(PlanSealed, log)
        if (event.search, event.attempt) == (entry.about, entry.attempt)
    ]
    known = [None if each is None else (each.commitments, each.boxes) for each in heads_of_nodes]
    roots = {root for heads in heads_of_nodes if heads is not None for root in heads.commitments}
    for event in sealed:
        away = None in known and roots.issuperset(event.commitments)
        if (event.commitments, event.boxes) not in known and not away:
            raise LogError("a node logged other boxes, or other parts of the plan, than the ledger")
    named = [None if heads is None else heads.boxes for heads in heads_of_nodes]
    for line in events_of(Sent, log):
        if line.kind is not DisclosureKind.OWNERS_PLAN or line.about != entry.about:
            continue
        heard = line.known.boxes if isinstance(line.known, HeardBoxes) else []
        pairs = zip(heard, named, strict=True)
        if any(said and name and said != name for said, name in pairs):
            raise LogError("a node heard of other boxes of a peer than the ledger names")
        # Bound first, then released: otherwise a node could choose its boxes after it has seen
        # others.
        if not sealed or sealed[0].boxes not in heard:
            raise LogError("a node released boxes that it was not bound to before")


def check_own_parts(ledger: Iterable[Disclosed], seen: Seen, /) -> None:
    """Check that a participant's rows come from what the nodes were bound to."""
    heads_by_search: dict[int, list[Sequence[PlanHeads | None]]] = {search: [] for search in seen}
    for entry in ledger:
        if isinstance(entry.payload, DisclosedToOwners):
            heads_by_search.setdefault(entry.about, []).append(entry.payload.heads)
    for search, opened in sorted(heads_by_search.items()):
        by_node = seen.get(search, {})
        for node, heads in by_node.items():
            if not any(each[node] in (heads, None) for each in opened):
                raise LogError(
                    f"node {node} is bound to other parts of the plan than your box was: it lies, "
                    "or the platform does; keep the box"
                )
        for each in opened:
            named = {node for node, heads in enumerate(each) if heads is not None}
            if missing := named - set(by_node):
                raise LogError(
                    f"node {min(missing)} sealed a part of the plan for you, and the platform "
                    "brings no box of it that fits; ask the operator for it"
                )
