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

from tacit.disclosure import PARETO, SEALED, parse_disclosure, split_disclosure
from tacit.problems import kind_named

OPEN_ONLY_A_PLAN = frozenset({SEALED})
"""Disclosures under which the number of evaluations does not matter."""
SCHEDULES = ("schedule", "linear schedule")
"""The priors of whoever knows a schedule and how delays usually cost money."""
MOST_TELLING = "none"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One measured point; correlations of the row-and-column-centred matrix."""

    kind: str
    family: str
    """The family of costs."""
    prior: str
    """The attackers' prior knowledge."""
    rows: int
    columns: int
    population: int
    disclosure: str
    evaluations: int
    prior_alone: float
    plan_only: float
    plan_gain: float
    """Beyond what the prior tells, as all gains."""
    honest: float
    honest_gain: float
    worst: float | None
    """None where unrestricted queries were not measured."""
    worst_gain: float | None
    gap_percent: float
    of_sum: float | None = None
    """Where objectives are evaluated together, the correlation with the sum of all of them."""


class LeakageFigure(msgspec.Struct, frozen=True):
    """An attacker's result: the correlation, and the gain beyond the prior's guess."""

    correlation: float
    gain: float


class Expected(msgspec.Struct, frozen=True):
    """The expected leakage of an agreement."""

    prior: str
    """The prior knowledge that attackers are assumed to have."""
    prior_alone: float
    """The correlation that this gives by itself."""
    honest: LeakageFigure
    worst: LeakageFigure
    plan_only: LeakageFigure
    measured_as: str
    """The measured disclosure that the figures come from."""
    beyond: bool
    """Whether there are more candidates per cell than in the measurements."""
    smaller: bool
    """Whether the problem is smaller than any measured one, and may give away more."""
    structured: LeakageFigure | None = None
    """The figure of the family of costs that gives away most, if nothing is known of the costs."""
    structured_worst: LeakageFigure | None = None
    measured_kind: str | None = None
    """The kind of problems that was measured instead, where this one was not."""


class _LeakageTable(msgspec.Struct, frozen=True):
    format: str
    entries: list[Entry]


@lru_cache(maxsize=1)
def measured_entries() -> tuple[Entry, ...]:
    """The table that ships with the package."""
    return _entries_in("leakage.json")


@lru_cache(maxsize=1)
def entries_of_objectives_together() -> tuple[Entry, ...]:
    """The table of objectives that are evaluated together."""
    return _entries_in("leakage-pareto.json")


def _entries_in(name: str) -> tuple[Entry, ...]:
    content = (files("tacit.audit") / "data" / name).read_bytes()
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
    scheduled: bool = False,
    entries: Sequence[Entry] | None = None,
) -> Expected:
    """Look up what a run under an agreement gives away.

    `scheduled` says that forbidden pairs are a schedule (`first_columns`): then delay costs are the
    family that fits. Other assignments are taken to have independent costs, and the structured
    family that gives away most stands beside them.
    """
    measured = entries or measured_entries()
    look = _Lookup(disclosure, rows, columns, population, evaluations)
    if disclosure.startswith(f"{PARETO}:"):
        # An order of all objectives together says less of one of them than its exact values would.
        # These figures are therefore an upper bound wherever the order itself was not measured.
        apart = expected_leakage(
            MOST_TELLING, kind=kind, rows=rows, columns=columns, population=population,
            evaluations=evaluations, scheduled=scheduled, entries=measured,
        )  # fmt: skip
        known = not scheduled and not kind_named(kind).between_places
        return look.of_objectives_together(apart) if known else apart
    of_kind = [each for each in measured if each.kind == kind]
    if not of_kind:  # The nearest that there is: ways with ways, others with others.
        ways = kind_named(kind).between_places
        of_kind = [each for each in measured if kind_named(each.kind).between_places == ways]
    plain, structured, by_schedule = _by_family(of_kind, wide=columns > rows, look=look)
    if scheduled and by_schedule:
        expected = max(by_schedule, key=lambda each: each.honest.gain)
    else:
        expected = plain
        if structured:
            # Nobody knows whether costs follow a structure, so signatories see the family that
            # tells most.
            most, worst = (
                max((getattr(each, name) for each in (plain, *structured)), key=_correlation)
                for name in ("honest", "worst")
            )
            expected = replace(
                plain, structured=most, structured_worst=max(most, worst, key=_correlation)
            )
    return replace(expected, measured_kind=None if of_kind[0].kind == kind else of_kind[0].kind)


def _correlation(learned: LeakageFigure) -> float:
    return learned.correlation


def _by_family(
    entries: Sequence[Entry], *, wide: bool, look: _Lookup
) -> tuple[Expected, list[Expected], list[Expected]]:
    """The first family, the structured ones of which nothing is known before, and schedules.

    Those that were measured with more columns than rows count where there are more.
    """
    families = list(dict.fromkeys((each.family, each.prior) for each in entries))
    found = {}
    for key in families:
        mine = [each for each in entries if (each.family, each.prior) == key]
        if key == families[0] or wide or mine[0].columns <= mine[0].rows or key[1] in SCHEDULES:
            found[key] = look.among(mine)
    plain = found.pop(families[0])
    by_schedule = [each for key, each in found.items() if key[1] in SCHEDULES]
    structured = [
        each for key, each in found.items() if key[1] not in SCHEDULES and not each.prior_alone
    ]
    return plain, structured, by_schedule


class _Lookup(msgspec.Struct, frozen=True):
    """An agreement's figures, looked up among entries of one kind, family and prior."""

    disclosure: str
    rows: int
    columns: int
    population: int
    evaluations: int

    def among(self, entries: Sequence[Entry]) -> Expected:
        """Look the figures up at the next smaller measured size; the shorter side counts."""
        sides, own = sorted({each.rows for each in entries}), min(self.rows, self.columns)
        # The next smaller size, never the larger one: at the same number of candidates per cell
        # small problems give away more, so an error in this direction does not mislead whoever
        # signs.
        side = max((each for each in sides if each <= own), default=sides[0])
        table = [each for each in entries if each.rows == side]
        if self.disclosure in OPEN_ONLY_A_PLAN:
            return self._plan_alone(table, smaller=own < side)
        per_cell = (
            self.evaluations * self.population / _cells(table[0].kind, self.rows, self.columns)
        )
        found = []
        for name in _neighbours(self.disclosure, table):
            alike = [each for each in table if each.disclosure == name]
            # Small populations give away more per candidate, so sizes are not mixed within one
            # curve.
            nearest = min(
                {each.population for each in alike},
                key=lambda size: abs(log(size / self.population)),
            )
            near = [each for each in alike if each.population == nearest]
            found.append(_read_off(near, alike, per_cell, smaller=own < side))
        return max(found, key=lambda each: (each.honest.correlation, each.worst.correlation))

    def of_objectives_together(self, apart: Expected) -> Expected:
        """The leakage of one objective through the Pareto score of several.

        Measured for a search that is followed and costs without structure; of all else what any
        disclosure of one objective gives away stands.
        """
        table = [
            replace(each, disclosure=each.disclosure.removeprefix(f"{PARETO}:"))
            for each in entries_of_objectives_together()
            if (each.family, each.prior) == ("uniform", "range")
        ]
        shown = replace(self, disclosure=self.disclosure.removeprefix(f"{PARETO}:"))
        found = shown.among(table)
        return replace(
            apart,
            honest=found.honest,
            plan_only=found.plan_only,
            measured_as=f"{PARETO}:{found.measured_as}",
            beyond=found.beyond,
            smaller=found.smaller,
        )

    def _plan_alone(self, table: Sequence[Entry], *, smaller: bool) -> Expected:
        """The search opens a plan and nothing else, whatever the platform does.

        Any plan of the table counts, since a longer search may find as good a one.
        """
        most = max(table, key=lambda each: each.plan_gain)
        plan = LeakageFigure(most.plan_only, most.plan_gain)
        return Expected(
            most.prior, most.prior_alone, plan, plan, plan,
            measured_as=self.disclosure, beyond=False, smaller=smaller,
        )  # fmt: skip


def _cells(kind: str, rows: int, columns: int) -> float:
    return rows * (rows - 1) / 2 if kind_named(kind).between_places else rows * columns


def _neighbours(disclosure: str, table: Sequence[Entry]) -> list[str]:
    """The measured disclosures of the same method on both sides of this one."""
    measured = dict.fromkeys(each.disclosure for each in table)
    names = [name for name in measured if name not in OPEN_ONLY_A_PLAN]
    if disclosure in names:
        return [disclosure]
    asked = parse_disclosure(disclosure)
    method, more = asked.method, asked.contained_in
    alike = [name for name in names if split_disclosure(name)[0] == method]
    if not alike:
        # The method was never measured: one that is known to disclose more stands for it.
        return [more] if more in names else names
    number = split_disclosure(disclosure)[1]
    numbers = sorted(split_disclosure(name)[1] for name in alike)
    below = [each for each in numbers if each <= number][-1:]
    above = [each for each in numbers if each >= number][:1]
    found = [f"{method}:{each}" for each in dict.fromkeys(below + above)]
    # Lower thresholds tell more, and so do more groups or a larger best one.
    telling_more = below if method == "above" else above
    return found if telling_more or more not in names else [*found, more]


def _read_off(
    points: Sequence[Entry], alike: Sequence[Entry], per_cell: float, *, smaller: bool
) -> Expected:
    """Interpolate a population's points; the worst case may come from other populations."""
    honest = LeakageFigure(
        _between(points, "honest", per_cell), _between(points, "honest_gain", per_cell)
    )
    # Unrestricted queries were not measured for every size of population.
    queried = [each for each in alike if each.worst is not None]
    worst = honest
    if queried:
        worst = LeakageFigure(
            _between(queried, "worst", per_cell), _between(queried, "worst_gain", per_cell)
        )
    last = max(points, key=lambda each: each.evaluations)
    return Expected(
        prior=last.prior,
        prior_alone=last.prior_alone,
        honest=honest,
        # A platform that may ask anything may also follow the search, so it never learns less.
        worst=max(worst, honest, key=lambda each: each.correlation),
        plan_only=LeakageFigure(last.plan_only, last.plan_gain),
        measured_as=last.disclosure,
        # One percent for rounding: a run exactly as long as the longest measurement is not beyond
        # it.
        beyond=per_cell > last.evaluations * last.population / _cells_of(last) * 1.01,
        smaller=smaller,
    )


def _cells_of(entry: Entry) -> float:
    return _cells(entry.kind, entry.rows, entry.columns)


def _between(points: Sequence[Entry], name: str, wanted: float) -> float:
    """A figure at so many candidates per cell: more evaluations never give away less."""
    ordered: list[tuple[float, float]] = sorted(
        (each.evaluations * each.population / _cells_of(each), getattr(each, name))
        for each in points
    )
    at = [each for each, _ in ordered]
    # An attacker can ignore evaluations, so a figure that falls as they grow in number is noise.
    values = list(accumulate((value for _, value in ordered), max))
    if wanted <= at[0]:
        return values[0]
    for k in range(1, len(at)):
        if wanted <= at[k]:
            share = log(wanted / at[k - 1]) / log(at[k] / at[k - 1])
            return values[k - 1] + share * (values[k] - values[k - 1])
    return values[-1]
