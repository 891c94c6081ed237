"""The families of costs that sealed assignments are measured on."""

from __future__ import annotations

from typing import get_args

from tacit.problems import Drawn, Problem, generate_named

NOT_FAMILIES = ("moap", "tour", "capacitated", "routing")
FAMILIES = tuple(name for name in get_args(Drawn) if name not in NOT_FAMILIES)
WIDE = ("delays", "slots")
"""Families with half as many columns again as rows."""


def problem_of(family: str, rows: int, seed: int, /) -> Problem:
    """Draw a problem.

    >>> problem_of("slots", 10, 1).columns
    15
    """
    columns = rows + rows // 2 if family in WIDE else rows
    return generate_named(family, seed, rows=rows, columns=columns)
