"""What the options of `tacit solve` mean, and which of them do not go together."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from tacit.audit.record.recorder import Recorder
from tacit.errors import InputError
from tacit.problems import Problem
from tacit.runs import GenerationView, Observer
from tacit.runs.sealed import is_sealed
from tacit.search.moves import SealedParameters, sealed_parameters_for


def recorder_for(
    problem: Problem, path: Path | None, /, *, resume: Path | None, algorithm: str | None
) -> Recorder | None:
    """What watches the run, if it is to be recorded; refuses what could not be.

    A sealed run shows nothing while it goes, so nobody needs to watch it.

    >>> from tacit.problems import load_problem
    >>> recorder_for(load_problem("kroA100"), None, resume=None, algorithm=None) is None
    True
    """
    if path is None:
        return None
    if resume is not None:
        raise InputError("a record holds a run from its beginning; leave out --resume or --record")
    if algorithm == "exact" or not any(each.confidential for each in problem.objectives):
        raise InputError("nothing is disclosed in this run, so there is nothing to record")
    return None if is_sealed(problem) else Recorder()


def observing(first: Observer | None, recorder: Recorder | None, /) -> Observer | None:
    """One observer for both, or for the one that is there.

    >>> observing(None, None) is None
    True
    """
    watching = [each for each in (recorder, first) if each is not None]
    if not watching:
        return None

    def observe(view: GenerationView) -> None:
        for each in watching:
            each(view)

    return observe


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


def parse_sealed(texts: list[str], problem: Problem, /) -> SealedParameters | None:
    """The tuned settings of a sealed search and what differs from them, if anything does.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.runs import with_disclosures
    >>> problem = with_disclosures(generate_assignment(1, rows=3), "sealed", None)
    >>> parse_sealed(["parents=4"], problem).parents
    4
    """
    if not texts:
        return None
    if not is_sealed(problem):
        raise InputError(f"--sealed {texts[0]}: the run is not sealed; add --disclose sealed")
    names = [field.name for field in fields(SealedParameters)]
    changes = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in names or not (value.isascii() and value.isdigit() and len(value) < 8):
            raise InputError(
                f"--sealed {text}: give a setting and a whole number, as in parents=4; settings "
                f"are {', '.join(names)}"
            )
        changes[name] = int(value)
    return replace(sealed_parameters_for(problem.sealed_moves), **changes)


def check_writable(path: Path | None, /) -> None:
    """Refuse a place that cannot be written before the search starts, not after it.

    >>> check_writable(Path("no-folder/result.json"))
    Traceback (most recent call last):
    tacit.errors.InputError: no-folder/result.json: there is no folder no-folder; create it
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; create it")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it")
