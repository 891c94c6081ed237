"""How to search: presets, single settings by name, and where a run is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import msgspec

from tacit.disclosure import BestMode, Sealed
from tacit.errors import ParameterError
from tacit.plain_text import decoders_words, nearest_word
from tacit.problems import Problem
from tacit.runs.weightings import default_weightings
from tacit.search import SearchParameters, preset_named
from tacit.search.moves import (
    ExactParameters,
    SealedParameters,
    exact_parameters_for,
    fitted_parameters,
)

if TYPE_CHECKING:
    from tacit.engine.derived import KnownTime

AnySealed = SealedParameters | ExactParameters
Settings = SearchParameters | SealedParameters
"""Of searches; the exact solver has its own."""
AnySettings = TypeVar("AnySettings", bound=Settings | ExactParameters)


SEALED_SETTINGS = frozenset(
    each.name for kind in (SealedParameters, ExactParameters) for each in fields(kind)
)
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
    parameters: Settings | ExactParameters | None = None
    """All parameters, in place of a preset."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """Parameters that differ from these, by name; numbers may be given as text."""
    algorithm: str | None = None
    """`genetic`, `nsga2`, or `exact` for public objectives."""
    weightings: Sequence[Sequence[int]] | None = None
    """One list of factors per plan, where a sealed search has several objectives."""
    checkpointing: Checkpointing = Checkpointing()

    def parameters_for(
        self, problem: Problem, /, *, deadline: float | None = None, nodes: int = 3
    ) -> Settings | ExactParameters:
        """The parameters of the search for a problem on so many nodes, which has this time."""
        if is_sealed(problem):
            given = self.parameters
            if self.preset or self.algorithm or isinstance(given, SearchParameters):
                raise ParameterError(
                    "a sealed search has settings of its own; leave preset, algorithm and the "
                    "parameters of the genetic search out, or choose another disclosure, such as "
                    "top:15"
                )
            from tacit.engine.derived import KnownTime

            time = KnownTime(deadline=deadline, nodes=nodes)
            return sealed_settings(
                problem, self.changes, given, time=time, weightings=self.weightings
            )
        chosen = self.parameters or preset_named(self.preset or default_preset(problem))
        if not isinstance(chosen, SearchParameters) or self.weightings is not None:
            raise ParameterError("the run is not sealed; leave the settings of a sealed search out")
        algorithm = {} if self.algorithm is None else {"algorithm": self.algorithm}
        return changed(chosen.with_changes(**algorithm), self.changes)


def as_settings(
    settings: SolveSettings | Settings | ExactParameters | str | None, /
) -> SolveSettings:
    """All that `solve` takes as settings, as one object."""
    if isinstance(settings, SolveSettings):
        return settings
    if isinstance(settings, str):
        return SolveSettings(preset=settings)
    return SolveSettings(parameters=settings)


LENGTHS_OF_EXACT = {"phases", "scaling", "steps", "checkpoints", "bisect"}
"""Settings of the exact solver with which its schedule is decided by hand."""


def is_sealed(problem: Problem, /) -> bool:
    """Whether an objective asks for a sealed search."""
    return any(o.confidential and isinstance(o.disclosure, Sealed) for o in problem.objectives)


def sealed_settings(
    problem: Problem,
    changes: Mapping[str, Any],
    given: AnySealed | None = None,
    /,
    *,
    time: KnownTime | None = None,
    weightings: Sequence[Sequence[int]] | None = None,
) -> AnySealed:
    """The settings of a sealed run: `method` is search or exact, the others are of the method.

    Where nothing is named, it is what fits the `time`.

    >>> from tacit.problems import generate_assignment
    >>> sealed_settings(generate_assignment(1), {"method": "exact", "phases": 20}).phases
    20
    """
    of_populations = {each.name for each in fields(SearchParameters)} & set(changes)
    if of_populations:
        raise ParameterError(
            f"{min(of_populations)!r} is a setting of the genetic search, and the run is sealed; "
            "leave it out, or choose another disclosure, such as top:15"
        )
    usual = "exact" if isinstance(given, ExactParameters) else "search"
    method = changes.get("method", usual)
    rest = {name: value for name, value in changes.items() if name != "method"}
    if method == "exact":
        positions = max(problem.rows, problem.columns)
        usual_exact = exact_parameters_for(len(problem.objectives), positions)
        exact = changed(given if isinstance(given, ExactParameters) else usual_exact, rest)
        if time is not None and given is None and not LENGTHS_OF_EXACT & set(changes):
            from tacit.engine.derived import fitted_exact

            factors = weightings or default_weightings(problem)
            return fitted_exact(problem, exact, factors, time)
        if exact.told_after and exact.told_after[-1] > exact.phases:
            raise ParameterError(
                f"checkpoints is {exact.checkpoints!r}, and there are at most {exact.phases} "
                "phases; name earlier ones, or raise phases"
            )
        return exact
    if method != "search":
        raise ParameterError(f"method is {method!r}; use one of search, exact")
    if isinstance(given, SealedParameters):
        return changed(given, rest)
    if "swap_percent" in rest:
        rest = {"exchange_percent": 0, **rest}  # the others are or-opt moves, as they always were
    search = changed(fitted_parameters(problem), rest)
    is_tour = problem.sealed_moves == "tour"
    decided = {"method", *(FITTED_OF_TOURS if is_tour else ["finish"])} & set(changes)
    if time is None or (is_tour and decided):
        return search
    if any(each.best_mode is BestMode.IMPROVEMENT for each in problem.objectives):
        return search
    from tacit.engine.derived import fitted_search, fitted_start, fitted_tour

    factors = weightings or default_weightings(problem)
    if is_tour:
        return fitted_tour(problem, search, factors, time)
    if not decided:
        search = fitted_search(problem, search, factors, time)
    return search if "start" in changes else fitted_start(problem, search, factors, time)


def default_preset(problem: Problem, /) -> str:
    """The tuned set for a problem of this kind."""
    if problem.evaluates_together:
        return "tuned-pareto"
    if len(problem.objectives) > 1:
        return "paper-moap"
    return problem.preset


def changed(settings: AnySettings, changes: Mapping[str, Any], /) -> AnySettings:
    """A copy with some settings changed, each of its type and in its range.

    >>> changed(SealedParameters(), {"block": "six"})
    Traceback (most recent call last):
    tacit.errors.ParameterError: block is 'six' (expected a whole number, got text); correct it
    >>> changed(SearchParameters(), {"size": 6})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'size' is not a setting; use one of algorithm, population, ...
    >>> changed(SearchParameters(), {"ties": "fair"})
    Traceback (most recent call last):
    tacit.errors.ParameterError: ties is 'fair'; use one of random, shared, first, last
    """
    known = [each.name for each in fields(settings)]
    for name in changes:
        if name not in known:
            raise ParameterError(_unknown(name, settings))
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


def _unknown(name: str, settings: Settings | ExactParameters) -> str:
    """Why there is no such setting, and which the nearest is."""
    known = [each.name for each in fields(settings)]
    sealed = not isinstance(settings, SearchParameters)
    exact = isinstance(settings, ExactParameters)
    other = SealedParameters if exact else ExactParameters
    if not sealed and name in {"method", *SEALED_SETTINGS}:
        return (
            f"{name!r} is a setting of a sealed run, and this one is not; leave it out, or "
            "disclose sealed"
        )
    if sealed and name in {each.name for each in fields(other)}:
        of, remedy = (
            ("the search", "leave method=exact out")
            if exact
            else ("the exact solver", "add method=exact")
        )
        return f"{name!r} is a setting of {of}; leave it out, or {remedy}"
    others = ["method", *(each.name for each in fields(SearchParameters))] if sealed else []
    if near := nearest_word(name, [*known, *others]):
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
