"""What an agreement says of a sealed run, and the public course that follows from it.

An agreement names one search per weighting of its objectives; each opens one plan. Weightings of an
assignment go on in groups, in the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import gcd, prod
from typing import Any

import msgspec
import numpy as np

from tacit.disclosure import SEALED
from tacit.engine.agreement.assignment import AssignmentCourse, assignment_courses
from tacit.engine.agreement.frame_sizes import ROOM
from tacit.engine.agreement.terms import Agreement, PinnedSearch
from tacit.errors import AgreementError, ParameterError, ProblemError
from tacit.mpc import RING_BITS, Size
from tacit.mpc.sealed import TableShape, most_compared, state_sizes
from tacit.problems import Problem
from tacit.search.moves import (
    AssignmentParameters,
    PublicShape,
    Schedule,
    TourParameters,
    named_settings,
    public_shape,
)

MOST_SEARCHES, MOST_ASSIGNMENTS = 64, 128
MOST_FACTOR = 1 << 20
NO_IMPROVEMENTS = (
    "a sealed run has no plans on the way that could be told to improve; disclose the best value "
    "or nothing"
)
AnySealed = TourParameters | AssignmentParameters
for _kind in (TourParameters, AssignmentParameters):
    msgspec.json.Decoder(_kind)  # before threads meet them; see `terms.read_agreement`
Course = Schedule | AssignmentCourse


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

    >>> pin_sealed(TourParameters(), [(3, 1), (1, 3)]).parameters["weightings"]
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
    kind: type[AnySealed] = TourParameters if "children" in settings else AssignmentParameters
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
    if agreement.objectives[0].best == "improvement":
        raise AgreementError(NO_IMPROVEMENTS)
    terms = sealed_terms(agreement)
    _check_kind(agreement, terms.parameters)
    is_tour = isinstance(terms.parameters, TourParameters)
    most = MOST_SEARCHES if is_tour else MOST_ASSIGNMENTS
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
    for group, course in zip(groups_of(agreement), courses_of(agreement, seed=0), strict=True):
        check_sizes(course, group[0])
    if isinstance(terms.parameters, AssignmentParameters):
        _check_steps(terms.parameters, agreement.limits.evaluations)


def _check_kind(agreement: Agreement, parameters: AnySealed) -> None:
    moves = agreement.known_problem.sealed_moves
    if moves is None:
        raise AgreementError(
            f"plans of the kind {agreement.problem.kind!r} cannot be found by a sealed run; choose "
            "another disclosure"
        )
    if (moves == "tour") != isinstance(parameters, TourParameters):
        raise AgreementError(
            f"the sealed run has settings of another kind than {moves}; draft anew"
        )


def _check_steps(parameters: AssignmentParameters, agreed: int) -> None:
    if parameters.iterations < 1 or agreed != parameters.steps:
        raise AgreementError(
            f"a sealed assignment has {parameters.steps} generations and iterations; allow as "
            f"many evaluations, not {agreed}"
        )
    if parameters.least > parameters.iterations:
        raise AgreementError(
            f"{parameters.least} iterations at least of {parameters.iterations}; name fewer"
        )
    late = [each for each in parameters.told_after if each >= parameters.iterations]
    if late:
        raise AgreementError(
            f"a checkpoint after iteration {late[0]} of {parameters.iterations} comes with the "
            "plan or later; leave it out"
        )


def check_sizes(course: Course, search: int, /) -> None:
    """Refuse a course whose numbers do not fit the ring, or whose messages no frame."""
    needed = _bits_compared(course)
    if needed > RING_BITS:
        raise AgreementError(
            f"search {search} compares {needed} bits, the ring has {RING_BITS}; scale the "
            "weights or the weighting down"
        )
    # A node that was lost and is back gets the whole state at once.
    state = sum(prod(size) * word.itemsize for size, word in state_sizes_of(course))
    most = max(largest_message(course), state)
    if most > ROOM:
        raise AgreementError(
            f"search {search} would take a message of {most >> 20} MB; {ROOM >> 20} MB fit: take "
            "fewer parents, fewer children or smaller blocks, or a smaller problem"
        )


def state_sizes_of(course: Course, /) -> list[Size]:
    """The sizes of what nodes keep between steps."""
    if isinstance(course, AssignmentCourse):
        return course.state_sizes
    return state_sizes(table_of(course))


def _bits_compared(course: Course) -> int:
    if isinstance(course, AssignmentCourse):
        return max(course.shape.key_bits, course.shape.descent_bits)
    about = table_of(course)
    return max(about.key_bits, about.settle_bits)


def largest_message(course: Course, /) -> int:
    """Bytes of the tables at the start, or of one bit per bit of a comparison."""
    if isinstance(course, AssignmentCourse):
        return course.largest_message
    about = table_of(course)
    comparisons = most_compared(course.blocks, course.children, levels=about.levels)
    cells = about.parents * about.places * (about.places + 1)
    return max(cells * about.word.itemsize, comparisons * _bits_compared(course) // 8)


def _shape(agreement: Agreement, factors: Sequence[int]) -> PublicShape:
    try:
        return public_shape(agreement.known_problem, factors)
    except ProblemError as error:
        raise AgreementError(str(error)) from None


def courses_of(agreement: Agreement, /, *, seed: int) -> Sequence[Course]:
    """The public courses of all groups: of each search, or of weightings solved together.

    Kept with the agreement: every batch of steps, and every plan that is opened, asks for them.
    """
    kept: dict[int, Sequence[Course]] = agreement.__dict__.setdefault("_courses", {})
    if seed not in kept:
        terms = sealed_terms(agreement)
        shapes = [_shape(agreement, factors) for factors in terms.weightings]
        kept[seed] = problem_courses(agreement.known_problem, shapes, terms.parameters, seed=seed)
    return kept[seed]


def problem_courses(
    problem: Problem, shapes: Sequence[PublicShape], parameters: AnySealed, /, *, seed: int
) -> Sequence[Course]:
    """The public courses of a problem whose weightings have cells of these ranges."""
    if isinstance(parameters, AssignmentParameters):
        return assignment_courses(problem, shapes, parameters, seed=seed)
    return [
        Schedule(shape, parameters, seed=seed, stream=stream) for stream, shape in enumerate(shapes)
    ]


def groups_of(agreement: Agreement, /) -> list[tuple[int, ...]]:
    """The searches that go on together; a group is known by the first of its searches."""
    if not agreement.sealed:
        return []
    return [
        course.searches if isinstance(course, AssignmentCourse) else (course.stream,)
        for course in courses_of(agreement, seed=0)
    ]


def group_with(agreement: Agreement, search: int, /) -> tuple[int, ...]:
    """The searches that go on together with this one, and itself."""
    return next(group for group in groups_of(agreement) if search in group)


def course_of(agreement: Agreement, search: int, /, *, seed: int) -> Course:
    """The public course of one search, or of the group that it belongs to."""
    at = next(k for k, group in enumerate(groups_of(agreement)) if search in group)
    return courses_of(agreement, seed=seed)[at]


def plan_word(agreement: Agreement, search: int, /) -> np.dtype[Any]:
    """The words that the shares of a plan have."""
    course = course_of(agreement, search, seed=0)
    return course.shape.word if isinstance(course, AssignmentCourse) else table_of(course).word


def is_exact(agreement: Agreement, /) -> bool:
    """Whether a plan comes with a proof that it is the optimum, if there is one."""
    return agreement.sealed and isinstance(sealed_terms(agreement).parameters, AssignmentParameters)


def checkpoints_of(agreement: Agreement, search: int, /) -> tuple[int, ...]:
    """The steps after which it is opened whether the group of a search is proved."""
    course = course_of(agreement, search, seed=0)
    return course.checkpoints if isinstance(course, AssignmentCourse) else ()


def words_before_plan(agreement: Agreement, /) -> int:
    """The words of a secret plan before its columns: its value, what is proved, and its gap."""
    return 2 + (gap_of(agreement) > 0) if is_exact(agreement) else 1


def gap_of(agreement: Agreement, /) -> int:
    """To whose powers the gap of a plan is rounded up; 0 where it is not opened."""
    if not agreement.sealed:
        return 0
    parameters = sealed_terms(agreement).parameters
    return parameters.gap if isinstance(parameters, AssignmentParameters) else 0


def gap_steps(agreement: Agreement, search: int, /) -> int:
    """How many different gaps could be opened with a plan."""
    course = course_of(agreement, search, seed=0)
    return len(course.ladder) if isinstance(course, AssignmentCourse) else 0


def table_of(schedule: Schedule, /) -> TableShape:
    """What the protocols need to know of a tour's table."""
    shape, parameters = schedule.shape, schedule.parameters
    return TableShape(
        shape.rows, schedule.key_bits, schedule.total_bits, parameters.parents, parameters.levels
    )
