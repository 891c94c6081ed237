"""Print runs, their progress and their results, for operators and participants."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.printing import LONGEST_LINE, echo, echo_json
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import (
        ClusterView,
        Plan,
        PlatformClient,
        RunEvent,
        RunResult,
        RunTerms,
        RunView,
    )

Timeout = Annotated[
    str | None, typer.Option(help="Give up after so long, such as 10m; exit code 7.")
]
PROGRESS_SECONDS = 5.0
"""Between two lines about progress, however often a platform reports."""
WAYS = ("tour", "routing")
"""Kinds whose plans are ways from place to place."""


def seconds_of(duration: str | None, /) -> float | None:
    from tacit.runs import parse_duration

    return None if duration is None else parse_duration(duration)


def show_run(seen: RunView, /, *, as_json: bool) -> None:
    """Print how far a run is, and whom it waits for."""
    if as_json:
        echo_json(seen)
        return
    echo(f"{seen.id}  {seen.state}{_reason(seen)}  {seen.name}")
    if waits := waits_for(seen):
        echo(waits.removeprefix(", "))
    for each in seen.members:
        how = "signed" if each.signed else "joined" if each.joined else "invited"
        echo(f"  {each.name}  {how}, inputs {each.submission_state}")
    if seen.progress is not None:
        echo(progress_words(seen.progress.generation, seen.progress.steps))
    for warning in seen.warnings:
        echo(f"Note: {warning}", err=True)
    for name, code in seen.invitations.items():
        echo(f"invitation of {name} (shown once): {code}")


def missing_nodes(clusters: Iterable[ClusterView], seen: RunView, /) -> list[str]:
    """The nodes of a run that the platform cannot reach, and since when."""
    lines = []
    nodes = [node for each in clusters if each.name == seen.cluster for node in each.nodes]
    for number, node in enumerate(nodes):
        if not node.reachable:
            since = "" if node.last_seen is None else f" since {_clock(node.last_seen)}"
            named = f"node {number} ({node.host}:{node.port})"
            lines.append(plain_line(f"Note: {named} cannot be reached{since}"))
    return lines


def watch_run(client: PlatformClient, run: str, /, *, timeout: str | None, as_json: bool) -> None:
    """Print what happens until the run has ended; an error unless it is finished then."""
    from tacit.client import check_finished

    # An event says that something changed; the run is asked for anew, since events may be missed.
    reported: float | None = None
    for event in client.runs.watch(run, timeout=seconds_of(timeout)):
        if as_json and event.kind != "here":
            echo_json(event, indent=None)
        if event.kind == "progress":
            reported = _show_progress(event, reported, quiet=as_json)
            continue
        seen = client.runs.show(run)
        if not as_json:
            echo(_event_line(event, seen))
        # Not by the event: the end may have come before this stream began, or between two of its
        # events.
        if seen.has_ended:
            check_finished(seen.id, seen.state, seen.reason)
            return


def _show_progress(event: RunEvent, last: float | None, *, quiet: bool) -> float:
    now = time.monotonic()
    # The platform reports twice a second, far more than anybody reads.
    if quiet or (last is not None and now - last < PROGRESS_SECONDS):
        return now if last is None else last
    data: dict[str, Any] = event.data
    best = ", ".join(_value(each) for each in data.get("best") or [] if each is not None)
    shown = progress_words(data.get("generation"), data.get("steps"))
    echo(f"{_clock(event.at)}  {shown}" + (f", best {best}" if best else ""))
    return now


def progress_words(generation: object, steps: object, /) -> str:
    """Say how far a run has come; a sealed one has a number of steps.

    >>> progress_words(1200, None), progress_words(12, 140)
    ('generation 1,200', 'step 12 of 140')
    """
    done, most = (f"{n:,}" if isinstance(n, int) else f"{n}" for n in (generation, steps))
    return f"generation {done}" if steps is None else f"step {done} of {most}"


def _value(value: object) -> str:
    """A value that was disclosed, or whether it improved.

    >>> _value(28745.0), _value(True), _value(False)
    ('28,745', 'improved', 'not improved')
    """
    if isinstance(value, bool):
        return "improved" if value else "not improved"
    return f"{value:,.10g}" if isinstance(value, int | float) else f"{value}"


def _event_line(event: RunEvent, seen: RunView) -> str:
    when, data = _clock(event.at or time.time()), event.data
    if event.kind == "warning":
        return f"{when}  warning: {data.get('message', '')}"
    if event.kind == "member":
        how = f"inputs {data.get('submission_state', 'changed')}"
        how = "has signed" if data.get("signed") else how
        how = "has joined" if data.get("joined") else how
        return f"{when}  {data.get('participant', '')}: {how}"
    return f"{when}  {seen.state}{_reason(seen)}{waits_for(seen)}"


def _reason(seen: RunView) -> str:
    return f" ({seen.reason})" if seen.reason else ""


def waits_for(seen: RunView, /) -> str:
    """Whom a run waits for, if it does."""
    if seen.state == "invited":
        what, missing = "signatures", [each.name for each in seen.members if not each.signed]
    elif seen.state == "agreed":
        wanted = ("missing", "refused")
        what, missing = "inputs", [m.name for m in seen.members if m.submission_state in wanted]
    else:
        return ""
    return f", waits for the {what} of {', '.join(missing)}" if missing else ""


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


def result_notes(run: str, found: RunResult, /) -> list[str]:
    """Say how the run ended, and what is known of its plan as a whole."""
    why = f": {found.reason}" if found.reason else ""
    notes = [f"{run} is {found.state}{why}"]
    if found.for_owners:
        notes.append("there is a plan, of which each participant has its own part")
    elif found.plan is None:
        notes.append("there is no plan")
    if found.proved:
        notes.append("no plan is better: the nodes proved it")
    elif found.gaps:
        notes.append(f"no plan is better by more than {max(found.gaps):,}")
    return [plain_line(each) for each in notes]


def result_lines(found: RunResult, terms: RunTerms, number: int, /) -> list[str]:
    """One plan as a table, with its values, and the others in a line each."""
    found.check_number(number)
    plans, names = found.plans, [each.name for each in terms.objectives]
    if not plans:
        return []
    others = [plan.title(i, len(plans), names) for i, plan in enumerate(plans, 1) if i != number]
    lines = _table(plans[number - 1], terms.problem.kind)
    if others:
        lines.insert(0, plans[number - 1].title(number, len(plans), names))
        lines += ["", "the others; --plan N shows one of them whole, and --json has all", *others]
    elif found.disclosed and isinstance(best := found.disclosed[0], float):
        lines.insert(0, f"best {names[0]} {best:,.10g}")
    return [plain_line(line, longest=LONGEST_LINE) for line in lines]


def _table(plan: Plan, kind: str) -> list[str]:
    """Rows and columns in names, or in numbers, which are counted from 0."""
    heads = ("from", "to") if kind in WAYS else ("row", "column")
    pairs = plan.named
    if pairs is None:
        after = [*plan.items[1:], *plan.items[:1]]
        first_of = plan.items if kind in WAYS else range(len(plan.items))
        second_of = after if kind in WAYS else plan.items
        numbered = zip(first_of, second_of, strict=True)
        pairs = [(str(first), str(second)) for first, second in numbered]
        heads = (f"{heads[0]} (from 0)", f"{heads[1]} (from 0)")
    width = max(len(first) for first, _ in [heads, *pairs])
    return [f"{first:{width}}  {second}" for first, second in [heads, *pairs]]
