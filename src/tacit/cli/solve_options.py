"""What the options of `tacit solve` mean, and which of them do not go together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit.errors import FileError, InputError
from tacit.problems import Problem
from tacit.runs import Observer, Progress, even_weightings, parse_weighting


def check_recordable(problem: Problem, /, *, resume: Path | None, algorithm: str | None) -> None:
    """Refuse to record a run of which nothing could be recorded."""
    if resume is not None:
        raise InputError("a record holds a run from its beginning; leave out --resume or --record")
    if algorithm == "exact" or not any(each.confidential for each in problem.objectives):
        raise InputError("nothing is disclosed in this run, so there is nothing to record")


def observing(*observers: Observer | None) -> Observer | None:
    """One observer for all that are there."""
    watching = [each for each in observers if each is not None]

    def observe(progress: Progress) -> None:
        for each in watching:
            each(progress)

    return observe if watching else None


def parse_disclosures(texts: list[str], /) -> str | dict[str, str] | None:
    """One disclosure for all objectives, or one each by name.

    >>> parse_disclosures(["top:15"]), parse_disclosures(["pay=order", "delay=top:3"])
    ('top:15', {'pay': 'order', 'delay': 'top:3'})
    """
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    by_name: dict[str, str] = {}
    for text in texts:
        name, equals, disclosure = text.rpartition("=")
        if not equals or name in by_name:
            raise InputError(
                f"--disclose {text}: with several disclosures each names its objective once, "
                "as in --disclose delay=order"
            )
        by_name[name] = disclosure
    return by_name


def failure_of(save: Callable[[], None], /) -> FileError | None:
    """Why something could not be written, to be said once the plan is shown: it is not lost."""
    try:
        save()
    except FileError as error:
        return error
    return None


def check_writable(path: Path | None, /) -> None:
    """Refuse a place that cannot be written before the search starts, not after it."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; create it")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it")


def weightings_asked_for(
    problem: Problem, named: list[str], count: int | None, /
) -> list[tuple[int, ...]] | None:
    """The weightings that were asked for, one by one or by their number; None for the usual."""
    if count is None:
        return [parse_weighting(each) for each in named] or None
    if named:
        raise InputError("--weighting and --weightings exclude each other; give one of them")
    return even_weightings(problem, count)
