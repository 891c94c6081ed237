"""The table of leakage: what the study measured, and how agreed figures are looked up in it.

Leakage depends mostly on the number of candidates per unknown cell, so other sizes and numbers of
evaluations are interpolated at the same number, between two measured points on a logarithmic
scale; beyond the last point its figure is used. At the same number smaller problems give away
more, so the next smaller measured size is used. Disclosures that were not measured take the
neighbour that gives away more; `sealed` takes what the plans of sealed searches gave away.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate
from math import log

import msgspec
from msgspec.structs import replace

from tacit.disclosure import SEALED, parse_disclosure, split_disclosure
from tacit.problems import kind_named

OPEN_ONLY_A_PLAN = frozenset({SEALED})
"""Disclosures under which the number of evaluations does not matter."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measured point; correlations of the row-and-column-centred matrix."""

    kind: str
    rows: int
    population: int
    disclosure: str
    evaluations: int
    honest: float
    worst: float | None
    """None where unrestricted queries were not measured."""
    plan_only: float
    gap_percent: float


class Expected(msgspec.Struct, frozen=True):
    """The expected leakage of an agreement, as correlations from 0 to 1."""

    honest: float
    worst: float
    plan_only: float
    measured_as: str
    """The measured disclosure that the figures come from."""
    beyond: bool
    """Whether there are more candidates per cell than in the measurements."""
    smaller: bool
    """Whether the problem is smaller than any measured one, and may give away more."""
    measured_kind: str | None = None
    """The kind of problems that was measured instead, where this one was not."""


class _LeakageTable(msgspec.Struct, frozen=True):
    format: str
    entries: list[Entry]


@lru_cache(maxsize=1)
def measured_entries() -> tuple[Entry, ...]:
    """The table that ships with the package."""
    content = (files("tacit.audit") / "data" / "leakage.json").read_bytes()
    return tuple(msgspec.json.decode(content, type=_LeakageTable).entries)


def expected_leakage(
    disclosure: str,
    /,
    *,
    kind: str,
    rows: int,
    columns: int,
    population: int,
    evaluations: int,
    entries: Sequence[Entry] | None = None,
) -> Expected:
    """Look up what a run under an agreement gives away."""
    measured = entries or measured_entries()
    of_kind = [each for each in measured if each.kind == kind]
    if not of_kind:  # The nearest that there is: ways with ways, others with others.
        ways = kind_named(kind).between_places
        of_kind = [each for each in measured if kind_named(each.kind).between_places == ways]
    other = None if of_kind[0].kind == kind else of_kind[0].kind
    sides = sorted({each.rows for each in of_kind})
    side = max((each for each in sides if each <= rows), default=sides[0])
    table = [each for each in of_kind if each.rows == side]
    if disclosure in OPEN_ONLY_A_PLAN:
        alone = _plan_alone(disclosure, table, smaller=rows < side)
        return replace(alone, measured_kind=other)
    per_cell = evaluations * population / _cells(kind, rows, columns)
    found = []
    for name in _neighbours(disclosure, table):
        alike = [each for each in table if each.disclosure == name]
        nearest = min(
            {each.population for each in alike}, key=lambda size: abs(log(size / population))
        )
        own = [each for each in alike if each.population == nearest]
        found.append(_read_off(own, alike, per_cell, smaller=rows < side))
    most = max(found, key=lambda each: (each.honest, each.worst))
    return replace(most, measured_kind=other)


def _plan_alone(disclosure: str, table: Sequence[Entry], *, smaller: bool) -> Expected:
    """The search opens a plan and nothing else, whatever the platform does."""
    own = [each.plan_only for each in table if each.disclosure == disclosure]
    plan = max(own or [each.plan_only for each in table])
    return Expected(plan, plan, plan, measured_as=disclosure, beyond=False, smaller=smaller)


def _cells(kind: str, rows: int, columns: int) -> float:
    return rows * (rows - 1) / 2 if kind_named(kind).between_places else rows * columns


def _neighbours(disclosure: str, table: Sequence[Entry]) -> list[str]:
    """The measured disclosures of the same method on both sides of this one."""
    measured = dict.fromkeys(each.disclosure for each in table)
    names = [name for name in measured if name not in OPEN_ONLY_A_PLAN]
    if disclosure in names:
        return [disclosure]
    method = parse_disclosure(disclosure).method
    alike = [name for name in names if split_disclosure(name)[0] == method]
    if not alike:
        return names
    number = split_disclosure(disclosure)[1]
    numbers = sorted(split_disclosure(name)[1] for name in alike)
    below = [each for each in numbers if each <= number][-1:]
    above = [each for each in numbers if each >= number][:1]
    return [f"{method}:{each}" for each in dict.fromkeys(below + above)]


def _read_off(
    points: Sequence[Entry], alike: Sequence[Entry], per_cell: float, *, smaller: bool
) -> Expected:
    """Interpolate a population's points; the worst case may come from other populations."""
    at, curve = _curve([(each, each.honest) for each in points])
    honest = _between(at, curve, per_cell)
    asked = [(each, each.worst) for each in alike if each.worst is not None]
    worst = _between(*_curve(asked), per_cell) if asked else honest
    return Expected(
        honest=honest,
        worst=max(worst, honest),
        plan_only=points[-1].plan_only,
        measured_as=points[0].disclosure,
        beyond=per_cell > at[-1] * 1.01,
        smaller=smaller,
    )


def _curve(points: Sequence[tuple[Entry, float]]) -> tuple[list[float], list[float]]:
    """Candidates per cell, and correlations: more evaluations never give away less."""
    cells = _cells(points[0][0].kind, points[0][0].rows, points[0][0].rows)
    ordered = sorted((each.evaluations * each.population / cells, value) for each, value in points)
    at, values = zip(*ordered, strict=True)
    return list(at), list(accumulate(values, max))


def _between(at: Sequence[float], values: Sequence[float], wanted: float) -> float:
    if wanted <= at[0]:
        return values[0]
    for k in range(1, len(at)):
        if wanted <= at[k]:
            share = log(wanted / at[k - 1]) / log(at[k] / at[k - 1])
            return values[k - 1] + share * (values[k] - values[k - 1])
    return values[-1]
