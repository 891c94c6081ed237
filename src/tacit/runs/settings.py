"""The settings of a search: presets, single settings by name, weightings, checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import msgspec

from tacit.disclosure import Sealed
from tacit.errors import AgreementError, ParameterError
from tacit.plain_text import decoders_words, nearest_word
from tacit.problems import Problem, simplex_points
from tacit.runs.limits import Limits
from tacit.search import SearchParameters, preset_named
from tacit.search.moves import (
    SETTINGS,
    AssignmentParameters,
    SealedParameters,
    TourParameters,
    fitted_parameters,
)

if TYPE_CHECKING:
    from tacit.derived import KnownTime


Settings = SearchParameters | TourParameters | AssignmentParameters
AnySettings = TypeVar("AnySettings", bound=Settings)

FITTED_OF_TOURS = ("parents", "children", "meet_every")
"""What follows from the time of a tour, unless one of these is named."""


@dataclass(frozen=True, kw_only=True)
class Checkpointing:
    """Where and how often a run is saved, and what it resumes from."""

    file: str | Path | None = None
    every: int = 50
    resume: str | Path | None = None

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ParameterError(f"checkpoints every {self.every} generations; give at least 1")


@dataclass(frozen=True, kw_only=True)
class SolveSettings:
    """How `solve` searches; what is left out follows from the problem.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=3)
    >>> SolveSettings(preset="paper-tsp", changes={"elites": "3"}).parameters_for(problem).elites
    3
    """

    preset: str | None = None
    """The name of a tuned set of parameters."""
    parameters: Settings | None = None
    """All parameters, in place of a preset."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """Parameters that differ from these, by name; numbers may be given as text."""
    algorithm: str | None = None
    """`genetic`, `nsga2`, or `exact` for public objectives."""
    weightings: Sequence[Sequence[int]] | None = None
    """One list of factors per plan, where a sealed search has several objectives."""
    checkpointing: Checkpointing = Checkpointing()

    def parameters_for(
        self, problem: Problem, /, *, limits: Limits | None = None, nodes: int = 3
    ) -> Settings:
        """The parameters of the search for a problem on so many nodes, within these limits."""
        if is_sealed(problem):
            given = self.parameters
            if self.preset or self.algorithm or isinstance(given, SearchParameters):
                raise ParameterError(
                    "a sealed search has settings of its own; leave preset, algorithm and the "
                    "parameters of the genetic search out, or choose another disclosure, such as "
                    "top:15"
                )
            from tacit.derived import KnownTime

            limits = limits or Limits()
            given_steps = [n for n in (limits.generations, limits.evaluations) if n is not None]
            time = KnownTime(
                deadline=limits.deadline, nodes=nodes, steps=min(given_steps, default=None)
            )
            try:
                return sealed_settings(
                    problem, self.changes, given, time=time, weightings=self.weightings
                )
            except AgreementError as error:
                # Nobody has agreed on anything yet: a setting does not fit.
                raise ParameterError(str(error)) from None
        chosen = self.parameters or preset_named(self.preset or default_preset(problem))
        if not isinstance(chosen, SearchParameters) or self.weightings is not None:
            raise ParameterError("the run is not sealed; leave the settings of a sealed search out")
        algorithm = {} if self.algorithm is None else {"algorithm": self.algorithm}
        return changed(chosen.with_changes(**algorithm), self.changes)


def as_settings(settings: SolveSettings | Settings | str | None, /) -> SolveSettings:
    if isinstance(settings, SolveSettings):
        return settings
    if isinstance(settings, str):
        return SolveSettings(preset=settings)
    return SolveSettings(parameters=settings)


def is_sealed(problem: Problem, /) -> bool:
    """Return whether an objective asks for a sealed search."""
    return any(o.confidential and isinstance(o.disclosure, Sealed) for o in problem.objectives)


def sealed_settings(
    problem: Problem,
    changes: Mapping[str, Any],
    given: SealedParameters | None = None,
    /,
    *,
    time: KnownTime | None = None,
    weightings: Sequence[Sequence[int]] | None = None,
) -> SealedParameters:
    """The settings of a sealed run; what is not named fits the `time`.

    >>> from tacit.problems import generate_assignment
    >>> sealed_settings(generate_assignment(1), {"iterations": 20}).iterations
    20
    """
    of_populations = {each.name for each in fields(SearchParameters)} & set(changes)
    if of_populations - {each.name for each in fields(TourParameters)}:
        raise ParameterError(
            f"{min(of_populations)!r} is a setting of the genetic search, and the run is sealed; "
            "leave it out, or choose another disclosure, such as top:15"
        )
    from tacit.derived import KnownTime, fitted_assignment, fitted_tour

    factors = weightings or default_weightings(problem)
    if problem.sealed_moves != "tour":
        if isinstance(given, TourParameters):
            raise ParameterError("these are settings of a tour; leave them out")
        settings = changed(given or AssignmentParameters(), changes)
        if (settings.generations or settings.seconds) and "iterations" not in changes:
            return settings  # as somebody has fitted them
        return fitted_assignment(problem, settings, factors, time or KnownTime(deadline=None))
    if isinstance(given, AssignmentParameters):
        raise ParameterError("these are settings of an assignment; leave them out")
    if given is not None:
        return changed(given, changes)
    if "swap_percent" in changes:
        changes = {"exchange_percent": 0, **changes}  # the others are or-opt moves
    search = changed(fitted_parameters(problem), changes)
    if time is None or set(FITTED_OF_TOURS) & set(changes):
        return search
    return fitted_tour(problem, search, factors, time)


def default_preset(problem: Problem, /) -> str:
    if problem.evaluates_together:
        return "tuned-pareto"
    if len(problem.objectives) > 1:
        return "paper-moap"
    return problem.preset


def changed(settings: AnySettings, changes: Mapping[str, Any], /) -> AnySettings:
    """A copy with some settings changed, each of its type and in its range.

    >>> changed(TourParameters(), {"children": "six"})
    Traceback (most recent call last):
    tacit.errors.ParameterError: children is 'six' (expected a whole number, got text); correct it
    >>> changed(SearchParameters(), {"size": 6})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'size' is not a setting; use one of algorithm, population, ...
    >>> changed(SearchParameters(), {"ties": "fair"})
    Traceback (most recent call last):
    tacit.errors.ParameterError: ties is 'fair'; use one of random, shared, first, last
    """
    for name in changes:
        if name not in setting_names(type(settings)):
            raise ParameterError(_unknown(name, settings))
    # Not strict, since a command line gives numbers as text.
    try:
        return msgspec.convert({**asdict(settings), **changes}, type(settings), strict=False)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        what, name = decoders_words(what), place.strip("`$.")
        # Of a Literal these are its words; other types have none.
        choices = get_args(get_type_hints(type(settings))[name])
        if choices:
            text = f"{name} is {changes[name]!r}; use one of {', '.join(map(str, choices))}"
            raise ParameterError(text) from None
        raise ParameterError(f"{name} is {changes[name]!r} ({what}); correct it") from None


def setting_names(kind: type[Any], /) -> list[str]:
    """The names of what people may set.

    >>> setting_names(AssignmentParameters)
    ['iterations', 'checkpoints', 'gap', 'together']
    """
    return [*SETTINGS] if kind is AssignmentParameters else [each.name for each in fields(kind)]


def _unknown(name: str, settings: Settings) -> str:
    """Explain why there is no such setting, and name the nearest one."""
    known = setting_names(type(settings))
    for kind, what in (
        (AssignmentParameters, "a sealed assignment"),
        (TourParameters, "a sealed tour"),
        (SearchParameters, "the genetic search"),
    ):
        if name in setting_names(kind):
            return f"{name!r} is a setting of {what}, and this run is none; leave it out"
    if near := nearest_word(name, known):
        return f"{name!r} is not a setting; did you mean {near}?"
    return f"{name!r} is not a setting; use one of {', '.join(known)}"


def parse_changes(texts: Sequence[str], /) -> dict[str, str]:
    """Settings as a command line has them.

    >>> parse_changes(["population=40", "reevaluate_parents=true"])
    {'population': '40', 'reevaluate_parents': 'true'}
    """
    changes: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name or name in changes:
            raise ParameterError(f"{text!r}: name each setting once, as in population=100")
        changes[name] = value.strip()
    return changes


# Mixtures of several objectives, of which a sealed search opens one plan each.


FRONT_STEPS = 4
"""Two objectives get so many weightings and one more, unless others are named."""
MOST_FACTOR = 1 << 20
"""As agreements have it."""


def default_weightings(problem: Problem, /) -> list[tuple[int, ...]]:
    """One search for one objective; for several, mixtures in which each can weigh as much.

    >>> from tacit.problems import generate_assignment
    >>> default_weightings(generate_assignment(1, rows=3, objectives=2))
    [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]
    """
    units, count = _units(problem), len(problem.objectives)
    if count == 1:
        return [(1,)]
    if count == 2:
        shares = [(FRONT_STEPS - i, i) for i in range(FRONT_STEPS + 1)]
    else:
        alone = [tuple(int(i == k) for i in range(count)) for k in range(count)]
        shares = [*alone, (1,) * count]  # type: ignore[list-item]
    return [tuple(s * u for s, u in zip(share, units, strict=True)) for share in shares]


def even_weightings(problem: Problem, count: int, /) -> list[tuple[int, ...]]:
    """At least so many mixtures, evenly spread; for two objectives as many.

    With 101 they are those of the ground truth, where weights are as large as their bounds. An
    objective that does not count decides between equals, so that no plan dominates what is found.

    >>> from tacit.problems import generate_assignment
    >>> even_weightings(generate_assignment(1, rows=3, objectives=2), 5)
    [(1, 3001), (1, 3), (1, 1), (3, 1), (3001, 1)]
    """
    units, objectives = _units(problem), len(problem.objectives)
    if objectives < 2 or count < objectives:
        raise ParameterError(
            f"{count} weightings of {objectives} objectives; give at least as many as there are "
            "objectives, and several objectives"
        )
    points = simplex_points(objectives, at_least=count)
    mixed = [[s * u for s, u in zip(point, units, strict=True)] for point in points]
    # In lowest terms, since agreements limit factors.
    return [_decisive(problem, [factor // gcd(*each) for factor in each]) for each in mixed]


def _decisive(problem: Problem, factors: list[int]) -> tuple[int, ...]:
    """With a factor of 1 in place of 0, all together too little to outweigh one unit of another."""
    most = sum(
        problem.rows * each.weight_bound
        for factor, each in zip(factors, problem.objectives, strict=True)
        if not factor
    )
    # Agreements refuse larger factors; then an objective that does not count decides nothing.
    if not most or max(factors) * (most + 1) > MOST_FACTOR:
        return tuple(factors)
    return tuple(factor * (most + 1) or 1 for factor in factors)


def _units(problem: Problem) -> list[int]:
    """Return the factor of each objective's weights: small ones count more per unit."""
    bounds = [max(1, objective.weight_bound) for objective in problem.objectives]
    return [max(1, max(bounds) // bound) for bound in bounds]


def parse_weighting(text: str, /) -> tuple[int, ...]:
    """The factors of one plan.

    >>> parse_weighting("3:1")
    (3, 1)
    """
    parts = text.split(":")
    # Seven digits hold MOST_FACTOR; longer text need not become a number to be refused.
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        raise ParameterError(
            f"the weighting {text!r} is none; give whole factors with colons between, as in 3:1"
        )
    return tuple(int(part) for part in parts)
