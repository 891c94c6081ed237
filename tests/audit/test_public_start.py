"""Review warns by the larger of the measured figures where the start of a plan was public."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from studies.benchmarks.known_start import Figures, measure, read, table

from tacit.agreement import Agreement, pin_sealed
from tacit.audit.explanation import (
    MASKS,
    SCHEDULES,
    PublicStart,
    between,
    explain_leakage,
    public_start,
    words_for_start,
)
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.fixtures import example_cast
from tests.support.repository import ROOT

FIGURES = read(ROOT / "docs/figures/known-start.json")
POSSIBLE = {("sparse", 30): 6, ("sparse", 100): 6, ("masked", 30): 24, ("masked", 100): 80}


def is_late(each: Figures) -> bool:
    """An agreed plan: at the least number of iterations or later."""
    return each.is_least or not each.point.steps


def agreement_on(side: int, forbidden: list[tuple[int, int]], **more: Any) -> Agreement:
    agreement = example_cast().agreement
    problem = msgspec.structs.replace(
        agreement.problem, rows=side, columns=side, forbidden=forbidden
    )
    (first, *others) = agreement.objectives[0].owners
    owners = [
        msgspec.structs.replace(first, rows=list(range(side))),
        *(msgspec.structs.replace(each, rows=[]) for each in others),
    ]
    terms = msgspec.structs.replace(
        agreement.objectives[0], disclosure="sealed", best="nothing", owners=owners
    )
    changes = {"search": pin_sealed(AssignmentParameters()), "objectives": [terms]}
    return msgspec.structs.replace(agreement, problem=problem, **(changes | more))


def sparse(side: int, possible: int) -> list[tuple[int, int]]:
    """All pairs but a band around the diagonal, which is no schedule: no row begins late."""
    return [
        (i, (i + k) % side) for i in range(side) for k in range(possible, side) if (i + k) % side
    ]


def test_the_figures_are_those_that_were_measured() -> None:
    late = [each for each in FIGURES if is_late(each)]
    for rows, start in SCHEDULES.items():
        of_rows = [
            each for each in late if each.rows == rows and each.family in ("delays", "slots")
        ]
        assert start.with_start == pytest.approx(max(e.with_start for e in of_rows), abs=0.006)
        assert start.alone == pytest.approx(max(e.alone for e in of_rows), abs=0.006)
    for per_row, start in MASKS.items():
        like = [each for each in late if POSSIBLE.get((each.family, each.rows)) == per_row]
        assert like
        assert start.with_start == pytest.approx(max(e.with_start for e in like), abs=0.006)
        assert start.alone == pytest.approx(max(e.alone for e in like), abs=0.006)


def test_a_late_plan_tells_no_more_with_its_start_and_an_early_one_less_than_a_late_one() -> None:
    """What docs/leakage.md says, and why review has figures of late plans alone."""
    for each in FIGURES:
        if is_late(each):
            assert each.adds <= 0.02, each
            continue
        latest = [
            e.with_start
            for e in FIGURES
            if is_late(e) and (e.family, e.rows) == (each.family, each.rows)
        ]
        assert each.with_start <= max(latest) + 0.02, each
    assert max(each.adds for each in FIGURES) > 0.05


def test_the_posterior_has_hardly_more_than_the_attack_finds() -> None:
    limited = [each for each in FIGURES if each.limit is not None]
    assert len(limited) == 2
    for each in limited:
        assert each.limit is not None
        assert each.with_start > 0.9 * each.limit
        assert each.alone < 0.7 * each.limit


def test_few_allowed_pairs_are_said_of_sealed_plans_alone() -> None:
    agreement = agreement_on(100, sparse(100, 5))
    assert public_start(agreement) is not None
    (said,) = explain_leakage(agreement)
    assert "Pairs are forbidden" in said
    assert f"{MASKS[6].with_start:.2f} together with that one" in said
    (open_start,) = explain_leakage(agreement_on(100, []))
    assert "Pairs are forbidden" not in open_start
    assert public_start(agreement_on(100, [])) is None
    terms = msgspec.structs.replace(agreement.objectives[0], disclosure="top:15")
    evaluated = msgspec.structs.replace(
        agreement, objectives=[terms], search=example_cast().agreement.search
    )
    assert public_start(evaluated) is None


def test_where_hardly_any_pair_is_forbidden_the_figure_of_plans_stands() -> None:
    for side in (40, 100, 300):
        agreement = agreement_on(side, [(0, 1)])
        assert public_start(agreement) is not None
        (said,) = explain_leakage(agreement)
        assert "Pairs are forbidden" not in said


def test_a_schedule_has_the_figures_of_schedules() -> None:
    forbidden = [(row, column) for row in range(30) for column in range(row)]
    assert public_start(agreement_on(30, forbidden)) == SCHEDULES[30]
    large = [(row, column) for row in range(300) for column in range(row)]
    found = public_start(agreement_on(300, large))
    assert found is not None
    assert found.with_start == pytest.approx(SCHEDULES[100].with_start)


def test_between_two_sizes_figures_lie_between_and_small_ones_are_the_smallest() -> None:
    middle = between(MASKS, 12)
    assert MASKS[24].alone < middle.alone < MASKS[6].alone
    assert between(MASKS, 2) == MASKS[6]
    assert between(MASKS, 160).alone < MASKS[80].alone


def test_words_are_for_figures_that_exceed_those_of_the_plan() -> None:
    start = PublicStart(0.4, 0.5)
    assert words_for_start(None, plan=0.1) == []
    assert words_for_start(start, plan=0.48) == []
    (said,) = words_for_start(start, plan=0.47)
    assert "0.40 by itself" in said
    assert "0.50 together" in said


def test_the_benchmark_measures_a_small_case() -> None:
    figures = list(measure("masked", 12, seeds=3, lessons=5))
    assert not figures[-1].point.steps
    assert sum(each.is_least for each in figures) == 1
    for each in figures:
        assert each.with_start >= each.alone
        assert (each.limit is not None) == (each.point == figures[0].point)
    assert figures[-1].alone > 0.2
    lines = table(figures)
    assert len(lines) == 3
    assert lines[2].startswith("| masked 12 x 12 |")
    assert len({line.count("|") for line in lines}) == 1
