"""What an agreement says of a sealed search, and the public course that follows from it.

An agreement names one search per weighting of its objectives; each opens one plan. Searches of the
exact solver go on in groups, in the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import gcd, prod
from typing import Any

import msgspec
import numpy as np

from tacit.disclosure import SEALED
from tacit.engine.agreement.bisecting import check_order
from tacit.engine.agreement.exact import ForestCourse, forest_courses
from tacit.engine.agreement.finished import FinishedCourse, finishing_course
from tacit.engine.agreement.frame_sizes import ROOM
from tacit.engine.agreement.grown import GrownSchedule, grown_course
from tacit.engine.agreement.terms import Agreement, PinnedSearch
from tacit.errors import AgreementError, ParameterError, ProblemError
from tacit.mpc import RING_BITS, Size
from tacit.mpc.sealed import TableShape, most_compared, state_sizes
from tacit.problems import Problem
from tacit.search.moves import (
    NO_IMPROVEMENTS_WITH_FINISH,
    ONE_PARENT_IMPROVES,
    ExactParameters,
    PublicShape,
    Schedule,
    SealedParameters,
    named_settings,
    public_shape,
)

MOST_SEARCHES, MOST_EXACT = 64, 128
MOST_FACTOR = 1 << 20
NO_IMPROVEMENTS = (
    "the exact solver has no plans on the way that could improve; disclose its value or nothing"
)
NO_GAP = (
    "a search alone does not know what its plan lacks; leave gap out, or set finish to 1 or more, "
    "or method to exact"
)
AnySealed = SealedParameters | ExactParameters
for _kind in (SealedParameters, ExactParameters):
    msgspec.json.Decoder(_kind)  # before threads meet them; see `terms.read_agreement`
Course = Schedule | ForestCourse | FinishedCourse


@dataclass(frozen=True)
class SealedTerms:
    """The pinned settings, and one list of whole factors per search, one for each objective."""

    parameters: AnySealed
    weightings: tuple[tuple[int, ...], ...]


def pin_sealed(
    parameters: AnySealed,
    weightings: Sequence[Sequence[int]] = ((1,),),
    /,
) -> PinnedSearch:
    """How an agreement names a sealed search; its seed follows from the manifests.

    >>> pin_sealed(SealedParameters(), [(3, 1), (1, 3)]).parameters["weightings"]
    '3:1 1:3'
    """
    written = " ".join(":".join(map(str, factors)) for factors in weightings)
    return PinnedSearch(SEALED, {**named_settings(parameters), "weightings": written}, None)


def sealed_terms(agreement: Agreement, /) -> SealedTerms:
    """Read the settings of a sealed search, or refuse them with an `AgreementError`."""
    search = agreement.search
    if search.algorithm != SEALED or search.seed is not None:
        raise AgreementError(
            f"the agreement pins the search {search.algorithm!r}; sealed objectives take "
            f"{SEALED!r} with its seed left out"
        )
    settings = dict(search.parameters)
    written = str(settings.pop("weightings", ""))
    kind: type[AnySealed] = (
        ExactParameters if settings.get("method") == "exact" else SealedParameters
    )
    unknown = set(settings) - {field.name for field in fields(kind)}
    if unknown:
        raise AgreementError(f"a sealed search has no setting {min(unknown)!r}; leave it out")
    try:
        parameters: AnySealed = msgspec.convert(settings, type=kind)
        weightings = tuple(
            tuple(int(factor) for factor in each.split(":")) for each in written.split()
        )
    except (msgspec.ValidationError, ParameterError, ValueError) as error:
        raise AgreementError(f"the sealed search's settings are wrong ({error})") from None
    return SealedTerms(parameters, weightings)


def count_searches(agreement: Agreement, /) -> int:
    """How many sealed searches an agreement names; none where populations are evaluated."""
    return len(sealed_terms(agreement).weightings) if agreement.sealed else 0


def reduced(factors: Sequence[int], /) -> tuple[int, ...]:
    """A weighting without its scale, which changes no search.

    >>> reduced((4, 2)), reduced((0, 3))
    ((2, 1), (0, 1))
    """
    return tuple(factor // gcd(*factors) for factor in factors)


def check_sealed(agreement: Agreement, /) -> None:
    """Refuse a sealed search, if one is agreed, that contradicts itself or exceeds the ring."""
    if not agreement.sealed:
        return
    if agreement.reveal_best:
        raise AgreementError(
            "a sealed search opens its plan and has nothing to reveal after it; leave reveal_best "
            "out"
        )
    if not all(terms.sealed for terms in agreement.objectives):
        raise AgreementError("one objective is sealed and another is not; seal all or none")
    if len({terms.best for terms in agreement.objectives}) > 1:
        raise AgreementError("sealed objectives disclose their best in different ways; choose one")
    terms = sealed_terms(agreement)
    check_improvements(terms.parameters, told=agreement.objectives[0].best == "improvement")
    most = MOST_EXACT if isinstance(terms.parameters, ExactParameters) else MOST_SEARCHES
    if not 1 <= len(terms.weightings) <= most:
        raise AgreementError(f"{len(terms.weightings)} weightings; give one per plan, 1 to {most}")
    for factors in terms.weightings:
        fits = all(0 <= factor <= MOST_FACTOR for factor in factors) and any(factors)
        if len(factors) != len(agreement.objectives) or not fits:
            raise AgreementError(
                f"the weighting {':'.join(map(str, factors))} does not fit; give each objective a "
                f"factor of 0 to {MOST_FACTOR}, not all 0"
            )
    if len({reduced(factors) for factors in terms.weightings}) < len(terms.weightings):
        raise AgreementError(
            "two searches have the same weighting, perhaps scaled, and would open two plans of it; "
            "give each once, and one objective one weighting"
        )
    if bisects(agreement):
        check_order(terms.weightings)
    courses = courses_of(agreement, seed=0)
    for group, course in zip(groups_of(agreement), courses, strict=True):
        check_sizes(course, group[0])
    # Weightings of a smaller range need fewer phases, and have nothing to do in the others.
    phases = max(
        (len(each.phases) for each in courses if isinstance(each, ForestCourse)), default=0
    )
    if phases and agreement.limits.evaluations > phases:
        raise AgreementError(
            f"the exact solver has {phases} phases; allow as many evaluations, not "
            f"{agreement.limits.evaluations}"
        )
    _check_checkpoints(terms.parameters, phases)
    if gap_of(agreement) and not is_exact(agreement):
        raise AgreementError(NO_GAP)
    if finish_of(agreement) > agreement.limits.evaluations:
        raise AgreementError(
            f"the finish has {finish_of(agreement)} phases, and {agreement.limits.evaluations} "
            "generations and phases are allowed; allow more evaluations, or a shorter finish"
        )


def _check_checkpoints(parameters: AnySealed, phases: int) -> None:
    late = isinstance(parameters, ExactParameters) and [
        phase for phase in parameters.told_after if phase >= phases
    ]
    if late:
        raise AgreementError(
            f"a checkpoint after phase {late[0]} of {phases} comes with the plan or later; "
            "leave it out"
        )


def check_improvements(parameters: AnySealed, *, told: bool) -> None:
    """Refuse to tell improvements where there are none, or each parent has its own."""
    if not told:
        return
    if isinstance(parameters, ExactParameters):
        raise AgreementError(NO_IMPROVEMENTS)
    if parameters.parents > 1:
        raise AgreementError(ONE_PARENT_IMPROVES)
    if parameters.finish:
        raise AgreementError(NO_IMPROVEMENTS_WITH_FINISH)


def check_sizes(course: Course, search: int, /) -> None:
    """Refuse a course whose numbers do not fit the ring, or whose messages no frame."""
    needed = _bits_compared(course)
    if needed > RING_BITS:
        raise AgreementError(
            f"search {search} compares {needed} bits, the ring has {RING_BITS}; scale the "
            "weights or the weighting down"
        )
    # A node that was lost and is back gets the whole state at once.
    state = max(
        sum(prod(size) * word.itemsize for size, word in sizes) for sizes in _states_of(course)
    )
    most = max(largest_message(course), state)
    if most > ROOM:
        raise AgreementError(
            f"search {search} would take a message of {most >> 20} MB; {ROOM >> 20} MB fit: take "
            "fewer parents, fewer children or smaller blocks, or a smaller problem"
        )


def _states_of(course: Course) -> list[list[Size]]:
    """The sizes of each kind of state that there is."""
    match course:
        case Schedule():
            return [state_sizes(table_of(course))]
        case ForestCourse():
            return [course.state_sizes]
    return [course.state_sizes(turned=turned) for turned in (False, True)]


def _bits_compared(course: Course) -> int:
    match course:
        case Schedule():
            about = table_of(course)
            return max(about.key_bits, about.settle_bits)
        case ForestCourse():
            return course.shape.key_bits
    return max(_bits_compared(course.schedule), _bits_compared(course.forest))


def largest_message(course: Course, /) -> int:
    """Bytes of the tables at the start, or of one bit per bit of a comparison."""
    match course:
        case Schedule():
            return _largest_of_search(course, table_of(course))
        case ForestCourse():
            return course.largest_message
    return max(_largest_of_search(course.schedule, course.table), course.forest.largest_message)


def _largest_of_search(schedule: Schedule, about: TableShape) -> int:
    comparisons = most_compared(schedule.blocks, schedule.children, levels=about.levels)
    cells = about.parents * about.columns * (about.rows + 1)
    grown = schedule.grown.cells.largest_message if isinstance(schedule, GrownSchedule) else 0
    return max(cells * about.word.itemsize, comparisons * _bits_compared(schedule) // 8, grown)


def shape_of(agreement: Agreement, search: int, /) -> PublicShape:
    """What is public of the table of one search."""
    return _shape(agreement, sealed_terms(agreement).weightings[search])


def _shape(agreement: Agreement, factors: Sequence[int]) -> PublicShape:
    try:
        return public_shape(agreement.known_problem, factors)
    except ProblemError as error:
        raise AgreementError(str(error)) from None


def courses_of(agreement: Agreement, /, *, seed: int) -> Sequence[Course]:
    """The public courses of all groups: of each search, or of weightings solved together."""
    if _has_groups(agreement):
        return _exact_courses(agreement, seed=seed)
    return [course_of(agreement, k, seed=seed) for k in range(count_searches(agreement))]


def groups_of(agreement: Agreement, /) -> list[tuple[int, ...]]:
    """The searches that go on together; a group is known by the first of its searches."""
    if _has_groups(agreement):
        return [course.searches for course in _exact_courses(agreement, seed=0)]
    return [(search,) for search in range(count_searches(agreement))]


def _has_groups(agreement: Agreement) -> bool:
    """Weightings are solved together where nothing is searched."""
    return agreement.sealed and isinstance(sealed_terms(agreement).parameters, ExactParameters)


def group_with(agreement: Agreement, search: int, /) -> tuple[int, ...]:
    """The searches that go on together with this one, and itself."""
    return next(group for group in groups_of(agreement) if search in group)


def course_of(agreement: Agreement, search: int, /, *, seed: int) -> Course:
    """The public course of one search with its finish, or of the group that it belongs to."""
    parameters = sealed_terms(agreement).parameters
    if isinstance(parameters, ExactParameters):
        courses = _exact_courses(agreement, seed=seed)
        return next(course for course in courses if search in course.searches)
    kept: dict[tuple[int, int], Course]
    kept = agreement.__dict__.setdefault("_search_courses", {})  # every batch of generations asks
    if (search, seed) not in kept:
        shape, problem = shape_of(agreement, search), agreement.known_problem
        kept[search, seed] = search_course(problem, shape, parameters, seed=seed, stream=search)
    return kept[search, seed]


def _exact_courses(agreement: Agreement, *, seed: int) -> list[ForestCourse]:
    """Kept with the agreement: every plan of a group asks for them when it is opened."""
    kept: dict[int, list[ForestCourse]] = agreement.__dict__.setdefault("_exact_courses", {})
    if seed not in kept:
        terms = sealed_terms(agreement)
        assert isinstance(terms.parameters, ExactParameters)
        shapes = [_shape(agreement, factors) for factors in terms.weightings]
        kept[seed] = forest_courses(agreement.known_problem, shapes, terms.parameters, seed=seed)
    return kept[seed]


def search_course(
    problem: Problem,
    shape: PublicShape,
    parameters: SealedParameters,
    /,
    *,
    seed: int,
    stream: int,
) -> Schedule | FinishedCourse:
    """The public course of a search of a problem, with its finish if there is one."""
    schedule = Schedule(shape, parameters, seed=seed, stream=stream)
    if parameters.start == "grown":
        grown = grown_course(problem, shape)
        schedule = GrownSchedule(shape, parameters, seed=seed, stream=stream, grown=grown)
    if not parameters.finish:
        return schedule
    finish, gap = parameters.finish, parameters.gap
    forest = finishing_course(problem, shape, finish, seed=seed, stream=stream, gap=gap)
    table = replace(table_of(schedule), wide=forest.shape.word.itemsize == 8)
    return FinishedCourse(schedule, table, forest)


def forest_of(course: Course, /) -> ForestCourse | None:
    """The exact solver's part of a course, if there is one: it says what a plan looks like."""
    match course:
        case Schedule():
            return None
        case ForestCourse():
            return course
    return course.forest


def plan_word(agreement: Agreement, search: int, /) -> np.dtype[Any]:
    """The words that the shares of a plan have."""
    course = course_of(agreement, search, seed=0)
    if isinstance(course, Schedule):
        return table_of(course).word
    return course.shape.word if isinstance(course, ForestCourse) else course.forest.shape.word


def is_exact(agreement: Agreement, /) -> bool:
    """Whether the optimum is computed, perhaps after a search, with what is proved of it."""
    if not agreement.sealed:
        return False
    parameters = sealed_terms(agreement).parameters
    return isinstance(parameters, ExactParameters) or parameters.finish > 0


def finish_of(agreement: Agreement, /) -> int:
    """How many phases of the exact solver may follow a search."""
    parameters = sealed_terms(agreement).parameters
    return 0 if isinstance(parameters, ExactParameters) else parameters.finish


def checkpoints_of(agreement: Agreement, search: int, /) -> tuple[int, ...]:
    """The phases after which the nodes tell whether the group of a search is finished."""
    if not _has_groups(agreement):
        return ()
    course = course_of(agreement, search, seed=0)
    return course.checkpoints if isinstance(course, ForestCourse) else ()


def words_before_plan(agreement: Agreement, /) -> int:
    """The words of a secret plan before its columns: its value, what is proved, and its gap."""
    return 2 + (gap_of(agreement) > 0) if is_exact(agreement) else 1


def bisects(agreement: Agreement, /) -> bool:
    """Whether weightings between two equal plans are left out."""
    if not agreement.sealed:
        return False
    parameters = sealed_terms(agreement).parameters
    return isinstance(parameters, ExactParameters) and parameters.bisect


def gap_of(agreement: Agreement, /) -> int:
    """To whose powers the gap of a plan is rounded up; 0 where it is not opened."""
    return sealed_terms(agreement).parameters.gap if agreement.sealed else 0


def gap_steps(agreement: Agreement, search: int, /) -> int:
    """How many different gaps could be opened with a plan."""
    course = forest_of(course_of(agreement, search, seed=0))
    return 0 if course is None else len(course.ladder)


def table_of(schedule: Schedule, /) -> TableShape:
    """What the protocols need to know of the table."""
    shape = schedule.shape
    bits, parameters = (schedule.key_bits, schedule.total_bits), schedule.parameters
    return TableShape(
        shape.kind, shape.rows, shape.columns, *bits, parameters.parents, parameters.levels
    )
