"""Whether what a record holds fits together: sizes, plans, disclosed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED, parse_disclosure
from tacit.errors import InputError
from tacit.problems.model.problem import MOST_PAIRS

if TYPE_CHECKING:
    from tacit.audit.record.record import Record, RecordedProblem

LARGEST_SIDE = 2**16
"""Columns are kept in 16 bits."""


def check_record(
    record: Record, plans: NDArray[np.int32], disclosed: Sequence[NDArray[np.int64]], /
) -> None:
    """Refuse a record that contradicts itself."""
    problem = record.problem
    if not record.objectives:
        raise InputError("the record has no confidential objective, so nothing can leak")
    published = [record.published, *record.published_too]
    if {len(plan) for plan in published} != {problem.plan_length}:
        raise InputError("the record's plans have not one entry per row")
    if not problem.known.have_the_form(record.published_plans):
        raise InputError("the record's published plans are no plans of its problem")
    sealed = {each.disclosure == SEALED for each in record.objectives}
    if sealed == {True}:
        if record.sizes:
            raise InputError("the record is of a sealed search and yet has evaluations")
        return
    if True in sealed or not record.sizes or min(record.sizes) < 1:
        raise InputError("the record has no evaluation, or an empty one")
    fault = problem.known.fault(plans)
    if fault is not None:
        raise InputError(f"a plan of the record {fault[1]}")
    for objective, values in zip(record.objectives, disclosed, strict=True):
        if len(objective.told) != len(record.sizes):
            raise InputError(f"{objective.name!r} tells its best not once per evaluation")
        method = parse_disclosure(objective.disclosure).method
        if method in ("top", "above") and not np.isin(values, (0, 1)).all():
            raise InputError(f"{objective.name!r} discloses something else than true and false")
        if method != "none" and (values.min() < 0 or values.max() >= max(record.sizes) + 1):
            raise InputError(f"{objective.name!r} discloses ranks or groups that do not exist")


def check_problem(problem: RecordedProblem, /) -> None:
    """Refuse a problem whose kind is unknown or that is too large, before its plans are read."""
    if not (1 <= problem.columns <= LARGEST_SIDE and problem.rows * problem.columns <= MOST_PAIRS):
        raise InputError(f"the record has {problem.rows} rows and {problem.columns} columns")
    try:
        problem.known  # noqa: B018 - it is built now, and kept
    except InputError as error:
        raise InputError(f"the record's problem: {error}") from None
