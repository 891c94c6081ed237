"""Whether all nodes were asked for the same generations of a sealed search, and none twice.

There is no population to compute again: the nodes searched themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.records import BuiltOnThree, GenerationsBegun, Log, PlanBound, events_of
from tacit.errors import LogError
from tacit.verify.loss import throughout

_Run = tuple[int, int, int, int | None]
"""Generations that were asked for: the first, how many, of how many, and the turn before them."""


def check_asked(logs: Sequence[Log], /) -> str:
    """All nodes must have been asked for the same generations.

    The temperature follows from how many the platform says there will be. Whoever learns of
    improvements could steer by it; one that keeps to its deadline names numbers that settle down.
    """
    asked = [event for log in logs for event in events_of(GenerationsBegun, log)]
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
    for search in {e.search for log in logs for e in events_of(PlanBound, log)} - searches:
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
    bound = {e.attempt for log in logs for e in events_of(PlanBound, log) if e.search == search}
    if len(bound) > 1:
        raise LogError(f"the nodes were asked for two plans of search {search}; one is opened")
    return bound.pop().number if bound else None


def _course(log: Log, *, gaps: bool) -> dict[int, list[_Run]]:
    """Per search the generations that were begun, repetitions left out.

    Without `gaps`, unless it builds on what others computed meanwhile.
    """
    handed = {event.attempt for event in events_of(BuiltOnThree, log)} if gaps else set()
    course: dict[int, list[_Run]] = {}
    for event in events_of(GenerationsBegun, log):
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
