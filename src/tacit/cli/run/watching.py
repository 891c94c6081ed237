"""Watching a run, for operators and participants: a line for everything that happens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import RunEndedError
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import PlatformClient, RunEvent, RunView

Timeout = Annotated[
    str | None, typer.Option(help="Give up after so long, such as 10m; exit code 7.")
]


def seconds_of(timeout: str | None, /) -> float | None:
    """How long somebody waits."""
    from tacit.runs import parse_duration

    return None if timeout is None else parse_duration(timeout)


def watch_run(client: PlatformClient, run: str, /, *, timeout: str | None, as_json: bool) -> None:
    """Print what happens until the run has ended; an error unless it is finished then."""
    reported: float | None = None
    for event in client.runs.watch(run, timeout=seconds_of(timeout)):
        if as_json and event.kind != "here":
            _echo_line(event)
        if event.kind == "progress":
            reported = _show_progress(event, reported, quiet=as_json)
            continue
        seen = client.runs.show(run)
        if not as_json:
            typer.echo(plain_line(_line(event, seen), longest=2000))
        if seen.has_ended:
            check_is_finished(seen)
            return


def check_is_finished(seen: RunView, /) -> None:
    """Raise an error for a run that has ended in any other way."""
    if seen.has_ended and seen.state != "finished":
        why = f": {seen.reason}" if seen.reason else ""
        raise RunEndedError(f"{seen.id} is {seen.state}{why}")


def _echo_line(event: RunEvent) -> None:
    import json

    import msgspec

    # In ASCII: others wrote some of it, and a terminal obeys many characters.
    typer.echo(json.dumps(msgspec.to_builtins(event)).replace("\x7f", "\\u007f"))


def _show_progress(event: RunEvent, last: float | None, *, quiet: bool) -> float:
    """A line every few seconds, however often a platform reports."""
    now = time.monotonic()
    if quiet or (last is not None and now - last < PROGRESS_SECONDS):
        return now if last is None else last
    data: dict[str, Any] = event.data
    best = ", ".join(_told(each) for each in data.get("best") or [] if each is not None)
    shown = progress_words(data.get("generation"), data.get("steps"))
    shown += f", best {best}" if best else ""
    typer.echo(plain_line(f"{_clock(event.at)}  {shown}"))
    return now


def progress_words(generation: object, steps: object, /) -> str:
    """How far a run has come; a sealed one has a number of steps.

    >>> progress_words(1200, None), progress_words(12, 140)
    ('generation 1,200', 'step 12 of 140')
    """
    made, most = (f"{n:,}" if isinstance(n, int) else f"{n}" for n in (generation, steps))
    return f"generation {made}" if steps is None else f"step {made} of {most}"


def _told(value: object) -> str:
    """A value that was disclosed, or whether it improved.

    >>> _told(28745.0), _told(True), _told(False)
    ('28,745', 'improved', 'not improved')
    """
    if isinstance(value, bool):
        return "improved" if value else "not improved"
    return f"{value:,.10g}" if isinstance(value, int | float) else f"{value}"


PROGRESS_SECONDS = 5.0


def _line(event: RunEvent, seen: RunView) -> str:
    when = _clock(event.at or time.time())
    if event.kind == "warning":
        return f"{when}  warning: {event.data.get('message', '')}"
    if event.kind == "member":
        who = event.data.get("participant", "")
        return f"{when}  {who}: {_how_far(event.data)}"
    why = f" ({seen.reason})" if seen.reason else ""
    return f"{when}  {seen.state}{why}{waits_for(seen)}"


def _how_far(data: dict[str, Any]) -> str:
    if data.get("joined"):
        return "has joined"
    if data.get("signed"):
        return "has signed"
    return f"inputs {data.get('submission_state', 'changed')}"


def waits_for(seen: RunView, /) -> str:
    """Whom a run waits for, if it does."""
    members = seen.members
    if seen.state == "invited":
        missing = [each.name for each in members if not each.signed]
        return f", waits for the signatures of {', '.join(missing)}" if missing else ""
    if seen.state == "agreed":
        missing = [each.name for each in members if each.submission_state in ("missing", "refused")]
        return f", waits for the inputs of {', '.join(missing)}" if missing else ""
    return ""


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
