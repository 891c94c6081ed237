"""The settings of a study's search: of one that evaluates, or of a sealed one.

The preset decides which of the two a study is about. Names, types and ranges of the settings are
those of their class, so a setting that is added there can be set and tuned here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.disclosure import SEALED
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs import changed as changed
from tacit.search import PRESETS, SearchParameters, preset_named
from tacit.search.moves import SEALED_PRESETS, TourParameters, sealed_parameters_for

Settings = SearchParameters | TourParameters
"""Sealed assignments are solved exactly and have nothing to compare."""


@dataclass(frozen=True)
class SearchKind:
    """What studies need to know of a kind of search."""

    settings: type[Settings]
    usual_disclosure: str
    mismatch: str
    """Says that a disclosure of this kind does not fit settings of another."""
    settings_take_time: bool = False
    """Whether settings change how long a generation takes, so that the budget always counts."""
    most_objectives: int | None = None
    moves: str | None = None
    """What plans a search of this kind is of, if not of any."""

    def check_problem(self, problem: Problem, /) -> None:
        """Refuse a problem that studies of such searches do not take."""
        if self.moves is not None and problem.sealed_moves != self.moves:
            raise ParameterError(
                f"{problem.name} is no {self.moves}; studies of {self.usual_disclosure} searches "
                f"take no other kind"
            )
        count = len(problem.objectives)
        if self.most_objectives is not None and count > self.most_objectives:
            raise ParameterError(
                f"{problem.name} has {count} objectives; studies of {self.usual_disclosure} "
                "searches take problems of one"
            )


EVALUATING = SearchKind(
    SearchParameters, "none", "a sealed search cannot disclose {}; take another preset"
)
SEALED_SEARCH = SearchKind(
    TourParameters,
    SEALED,
    "{} needs the settings of a sealed search; take the preset " + " or ".join(SEALED_PRESETS),
    settings_take_time=True,
    most_objectives=1,
    moves="tour",
)


def kind_of(settings: Settings, /) -> SearchKind:
    """The kind of search that these settings are for."""
    return {kind.settings: kind for kind in (EVALUATING, SEALED_SEARCH)}[type(settings)]


def kind_under(disclosure: str, /) -> SearchKind:
    """The kind of search that can have this disclosure."""
    return {SEALED: SEALED_SEARCH}.get(disclosure, EVALUATING)


def preset_settings(preset: str, changes: Mapping[str, Any] | None = None, /) -> Settings:
    """The settings of a preset, some of them changed."""
    presets: dict[str, Settings] = {name: preset_named(name) for name in PRESETS}
    presets |= {name: sealed_parameters_for(moves) for name, moves in SEALED_PRESETS.items()}
    if preset not in presets:
        raise ParameterError(f"{preset!r} is not a preset; use one of {', '.join(presets)}")
    return changed(presets[preset], changes or {})


def settings_of(disclosure: str, values: Mapping[str, Any], /) -> Settings:
    """The settings of a run with this disclosure."""
    return kind_under(disclosure).settings(**values)


def check_disclosure(settings: Settings, disclosure: str, /) -> None:
    """Refuse a disclosure that a search with such settings cannot have.

    >>> check_disclosure(TourParameters(), "top:15")
    Traceback (most recent call last):
    tacit.errors.ParameterError: a sealed search cannot disclose top:15; take another preset
    """
    fitting = kind_under(disclosure)
    if fitting is not kind_of(settings):
        raise ParameterError(fitting.mismatch.format(disclosure))
