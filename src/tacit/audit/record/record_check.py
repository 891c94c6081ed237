"""Whether a record is consistent: sizes, plans, disclosed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED, parse_disclosure
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.audit.record.record import Record

LARGEST_SIDE = 2**16
"""Columns are kept in 16 bits."""


def check_record(
    record: Record, plans: NDArray[np.int32], disclosed: Sequence[NDArray[np.int64]], /
) -> None:
    """Reject an inconsistent record."""
    problem = record.problem
    if not 1 <= problem.rows <= problem.columns <= LARGEST_SIDE:
        raise InputError(f"the record has {problem.rows} rows and {problem.columns} columns")
    if problem.kind == "tour" and problem.rows != problem.columns:
        raise InputError("the record's tours do not have as many rows as columns")
    if not record.objectives:
        raise InputError("the record has no confidential objective, so nothing can leak")
    published = [record.published, *record.published_too]
    if {len(plan) for plan in published} != {problem.plan_length}:
        raise InputError("the record's plans do not have one entry per row")
    _check_plans(record.published_plans, problem.columns)
    sealed = {each.disclosure == SEALED for each in record.objectives}
    if sealed == {True}:
        if record.sizes:
            raise InputError("the record is of a sealed search but has evaluations")
        return
    if True in sealed or not record.sizes or min(record.sizes) < 1:
        raise InputError("the record has no evaluation, or an empty one")
    _check_plans(plans, problem.columns)
    for objective, values in zip(record.objectives, disclosed, strict=True):
        if len(objective.disclosed_best) != len(record.sizes):
            raise InputError(f"{objective.name!r} does not disclose its best once per evaluation")
        method = parse_disclosure(objective.disclosure).method
        if method in ("top", "above") and not np.isin(values, (0, 1)).all():
            raise InputError(f"{objective.name!r} discloses values other than true and false")
        if method != "none" and (values.min() < 0 or values.max() >= max(record.sizes) + 1):
            raise InputError(f"{objective.name!r} discloses ranks or groups that do not exist")


def _check_plans(plans: NDArray[np.int32], columns: int) -> None:
    if plans.size and not 0 <= plans.min() <= plans.max() < columns:
        raise InputError("the record has plans with columns that do not exist")
    ordered = np.sort(plans, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InputError("the record has plans that use a column twice")
