"""Check that a run counts for the balances of its series: once, in time, and alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.agreement import Agreement, equity_shape, owners_by_name, plan_digest
from tacit.equity import RunEntry, head_after
from tacit.errors import LogError, UnprovenError
from tacit.records import (
    EvaluationBegun,
    Log,
    LogEvent,
    NumberAdopted,
    RevealBegun,
    RunCounted,
    Sent,
)
from tacit.verify.claims import Claim

NEEDED_WHERE_KNOWN = 3
"""So many logs of three or four nodes say that a run counts whose plan the platform knew before."""


def counted_run(logs: Sequence[Log], /) -> RunCounted | None:
    """Return what the first node that counted the run says of it; None if it counts nowhere."""
    lines = (event for log in logs for event in log if isinstance(event, RunCounted))
    return next(lines, None)


def surely_counted(agreement: Agreement, logs: Sequence[Log], /) -> RunCounted | None:
    """Return what nodes say of a run that counts, if at least one of them is honest.

    An honest node counts what all have prepared, for good: its line alone is enough. Of four nodes
    one may lie, of three none.
    """
    enough = len(agreement.nodes) - 2
    return counted_run(logs) if _lines(logs) >= enough else None


def _lines(logs: Sequence[Log]) -> int:
    return sum(counted_run([log]) is not None for log in logs)


def check_counted(agreement: Agreement, logs: Sequence[Log], claim: Claim, /) -> str:
    """Check that a run counts before any part of a plan leaves a node, and everywhere alike.

    Where the platform knows its candidates, the plan that it shows is the one that counts.
    """
    assert agreement.equity is not None
    assert agreement.series is not None
    found = counted_run(logs)
    for node, log in enumerate(logs):
        own = [at for at, event in enumerate(log) if isinstance(event, RunCounted)]
        left = [at for at, event in enumerate(log) if _opens_plan(event)]
        if len(own) > 1:
            raise LogError(f"node {node} counted the run {len(own)} times; balances are wrong")
        # Once a plan is out, a platform that does not like the balances would let the run fail.
        if left and (not own or left[0] < own[0]):
            raise LogError(
                f"node {node} opened its part of a plan before the run counted: balances may lack "
                "it; tell the others"
            )
    # Of a sealed run nobody knows a plan before it is opened, and it is opened only once it counts.
    if not agreement.sealed:
        _check_plan(agreement, logs, claim)
    if found is None:
        return "no plan was opened, and the run does not count: no balance has moved"
    _check_entry(agreement, found)
    for node, log in enumerate(logs):
        said = counted_run([log])
        # Heads are chained, so nodes that counted differently could never agree on a next run.
        if said is not None and _public(agreement, said) != _public(agreement, found):
            raise LogError(f"node {node} counted another run than others did; tell them")
        if said is not None and said.opened != found.opened:
            raise LogError(f"node {node} tells all other numbers than others do; tell them")
    opened = any(_opens_plan(event) for log in logs for event in log)
    shown = any(each.plan is not None for each in claim.told)
    if not (opened if agreement.sealed else shown):
        raise UnprovenError(
            f"run {found.number} counts, and its plan was not opened or not shown: balances moved "
            "by a plan that nobody saw; ask the operator why"
        )
    _check_enough(agreement, logs)
    return (
        f"run {found.number} counts once, for {len(found.participants)} participants; the chain of "
        f"balances has the head {found.head[:16]}..."
    )


def _opens_plan(event: LogEvent) -> bool:
    return isinstance(event, Sent) and event.kind.opens_plan


def _check_enough(agreement: Agreement, logs: Sequence[Log]) -> None:
    """One node that lies does not make a run count.

    A sealed plan is opened by nodes that have counted, so one honest line is enough. A plan that
    the platform knew before is shown once all nodes have said that they counted: of three nodes
    all logs have the line, of four all but that of one which lies, or whose log is missing.
    """
    needed = len(agreement.nodes) - 2 if agreement.sealed else NEEDED_WHERE_KNOWN
    if (found := _lines(logs)) < needed:
        raise UnprovenError(
            f"only {found} of {len(agreement.nodes)} nodes say that they counted the run, and "
            f"{needed} have to: that it counts is not proven; ask the operators of the others why"
        )


def _check_plan(agreement: Agreement, logs: Sequence[Log], claim: Claim) -> None:
    # What is shown is what was counted, and nothing was evaluated once it was.
    found = counted_run(logs)
    for each in claim.told:
        if each.plan is None:
            continue
        if found is None:
            raise LogError("there is a plan, and no node counted the run with it; do not use it")
        if found.plan != plan_digest(agreement, each.plan):
            raise LogError("the plan that is shown is not the one that was counted; do not use it")
    for node, log in enumerate(logs):
        lines = [isinstance(event, RunCounted) for event in log]
        after = log[lines.index(True) :] if any(lines) else []
        if any(isinstance(event, EvaluationBegun | RevealBegun) for event in after):
            raise LogError(
                f"node {node} evaluated more after it had counted the run; tell the others"
            )
    if found is not None and any(each.plan is not None for each in claim.told):
        _check_nothing_more(logs)


def _check_nothing_more(logs: Sequence[Log]) -> None:
    # A node that lacks the line must have evaluated nothing that those with it had not.
    before = {each for log in logs if counted_run([log]) for each in _evaluated(log)}
    for node, log in enumerate(logs):
        if counted_run([log]) is None and _evaluated(log) - before:
            raise LogError(
                f"node {node} evaluated what those that counted the run had not when they did; "
                "tell the others"
            )


def _evaluated(log: Log) -> set[tuple[int, int | None]]:
    return {
        (event.objective, None if isinstance(event, RevealBegun) else event.number)
        for event in log
        if isinstance(event, EvaluationBegun | RevealBegun | NumberAdopted)
    }


def _public(agreement: Agreement, event: RunCounted) -> RunEntry:
    names, digest = tuple(event.participants), agreement.digest.hex()
    return RunEntry(
        event.number,
        event.attempt,
        names,
        place=event.place,
        agreement=digest,
        plan=event.plan,
    )


def _check_entry(agreement: Agreement, event: RunCounted) -> None:
    assert agreement.equity is not None
    assert agreement.series is not None
    if event.number != agreement.series.number:
        raise LogError("the nodes counted the run under another number than was signed")
    if tuple(event.participants) != owners_by_name(agreement, equity_shape(agreement)):
        raise LogError("the nodes counted the run for others than have rows in it")
    if event.head != head_after(agreement.equity.head, _public(agreement, event)):
        raise LogError("the head that the nodes tell does not follow from what they counted")
    telling = agreement.equity.terms.telling(event.place)
    boxes = len(event.participants) if telling.numbers else 0
    opened = tuple(name for name, _ in event.opened)
    if opened != telling.opened or len(event.boxes) != boxes:
        raise LogError("the nodes told something else of balances than was agreed")
