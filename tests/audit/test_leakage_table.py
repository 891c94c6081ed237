from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest

import tacit.audit
from tacit.agreement import pin_sealed
from tacit.audit.explanation import Asks, explain_expected, explain_leakage
from tacit.audit.leakage_table import (
    Entry,
    Expected,
    LeakageFigure,
    expected_leakage,
    measured_entries,
)
from tacit.disclosure import PAPER_CONFIGURATIONS
from tacit.lazy import public_names
from tacit.search import SearchParameters, resembles_a_preset
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.fixtures import example_cast


def entry(disclosure: str, evaluations: int, honest: float, **more: Any) -> Entry:
    worst = more.pop("worst", honest)
    given: dict[str, Any] = {
        "kind": "assignment",
        "family": "uniform",
        "prior": "range",
        "rows": 100,
        "columns": 100,
        "population": 100,
        "prior_alone": 0.0,
        "plan_only": 0.16,
        "plan_gain": 0.16,
        "honest": honest,
        "honest_gain": honest,
        "worst": worst,
        "worst_gain": worst,
        "gap_percent": 2.0,
    }
    return Entry(disclosure=disclosure, evaluations=evaluations, **(given | more))


TABLE = [
    entry("top:15", 10, 0.1, worst=0.3),
    entry("top:15", 100, 0.5, worst=0.9),
    entry("top:60", 10, 0.2),
    entry("top:60", 100, 0.8),
    entry("order", 10, 0.4),
    entry("order", 100, 0.3),
    entry("order", 10, 0.6, population=300, worst=None),
]


def looked_up(
    disclosure: str, *, evaluations: int, side: int = 100, population: int = 100
) -> Expected:
    return expected_leakage(
        disclosure,
        kind="assignment",
        rows=side,
        columns=side,
        population=population,
        evaluations=evaluations,
        entries=TABLE,
    )


def test_a_method_that_was_never_measured_has_the_figure_of_one_that_discloses_more() -> None:
    assert looked_up("quantiles:5", evaluations=10).measured_as == "order"


def test_measured_points_are_read_off() -> None:
    expected = looked_up("top:15", evaluations=100)
    assert expected.honest.correlation == pytest.approx(0.5)
    assert expected.worst.correlation == pytest.approx(0.9)
    assert not expected.beyond
    assert looked_up("top:15", evaluations=10).honest.correlation == pytest.approx(0.1)
    assert looked_up("top:15", evaluations=1).honest.correlation == 0.1


def test_between_points_figures_lie_between_and_beyond_them_the_last_stands() -> None:
    middle = looked_up("top:15", evaluations=32)
    assert 0.1 < middle.honest.correlation < 0.5
    assert middle.honest.correlation == pytest.approx(0.3, abs=0.01)
    beyond = looked_up("top:15", evaluations=9999)
    assert (beyond.honest, beyond.worst, beyond.beyond) == (
        LeakageFigure(0.5, 0.5),
        LeakageFigure(0.9, 0.9),
        True,
    )


def test_more_evaluations_never_tell_less() -> None:
    assert looked_up("order", evaluations=100).honest.correlation == 0.4


def test_smaller_problems_leak_sooner() -> None:
    small, large = (
        looked_up("top:15", evaluations=25, side=50),
        looked_up("top:15", evaluations=100),
    )
    assert small.honest == large.honest
    assert (small.smaller, large.smaller) == (True, False)


def test_the_next_smaller_measured_size_counts() -> None:
    table = [*TABLE, msgspec.structs.replace(TABLE[1], rows=40, columns=40, honest=0.7)]
    for side, honest in ((100, 0.5), (200, 0.1), (99, 0.7), (40, 0.7), (10, 0.7)):
        expected = expected_leakage("top:15", kind="assignment", rows=side, columns=side,
                                population=100, evaluations=100, entries=table)  # fmt: skip
        assert expected.honest.correlation == pytest.approx(
            honest, abs=0.3 if side == 200 else 1e-6
        )
        assert expected.smaller == (side == 10)


def test_what_was_not_measured_takes_the_neighbour_that_tells_more() -> None:
    assert looked_up("top:30", evaluations=100) == looked_up("top:60", evaluations=100)
    assert looked_up("top:5", evaluations=100) == looked_up("top:15", evaluations=100)
    assert looked_up("above:90", evaluations=100).measured_as == "top:60"
    # Nothing that was measured of its method tells as much.
    assert looked_up("top:90", evaluations=10).measured_as == "order"


def test_the_nearest_population_counts() -> None:
    assert looked_up("order", evaluations=10, population=250).honest.correlation == 0.6
    # Where the worst case was not measured, another population's stands in.
    assert looked_up("order", evaluations=10, population=250).worst.correlation >= 0.6


@pytest.mark.parametrize("kind", ["assignment", "tour"])
def test_the_shipped_table_has_all_of_the_papers_configurations(kind: str) -> None:
    mine = [
        each
        for each in measured_entries()
        if (each.kind, each.rows, each.population, each.family in ("uniform", "distances"))
        == (kind, 100, 300, True)
    ]
    assert {each.disclosure for each in mine} == {*PAPER_CONFIGURATIONS, "sealed"}
    last = {each.disclosure: each for each in mine if each.evaluations == 300}
    # What the simplest attacks recover, and so the least that may ever stand here.
    least = {"none": 0.96, "order": 0.91, "quantiles:5": 0.92, "top:60": 0.77, "top:15": 0.35}
    for disclosure, correlation in least.items():
        assert last[disclosure].honest >= correlation
    for part, whole in (("order", "none"), ("quantiles:20", "order"), ("buckets:20", "none")):
        assert last[part].honest <= last[whole].honest
    sealed = last.pop("sealed")
    assert sealed.honest == sealed.worst == sealed.plan_only
    for each in last.values():
        assert each.worst is not None
        assert each.worst >= 0.999 * each.honest
        assert each.plan_only < each.honest


def test_words_for_those_who_sign() -> None:
    agreement = example_cast().agreement
    (said,) = explain_leakage(agreement)
    assert f"After {agreement.limits.evaluations:,} evaluations" in said
    assert "breaks the agreement" in said


def test_sealed_tells_what_the_plan_tells_to_whomever() -> None:
    expected = expected_leakage(
        "sealed", kind="assignment", rows=100, columns=100, population=1, evaluations=10**6
    )
    assert expected.honest == expected.worst == expected.plan_only
    assert expected.honest.correlation == pytest.approx(0.17, abs=0.01)
    agreement = example_cast().agreement
    agreement = msgspec.structs.replace(agreement, search=pin_sealed(AssignmentParameters()))
    terms = msgspec.structs.replace(agreement.objectives[0], disclosure="sealed", best="nothing")
    (said,) = explain_leakage(msgspec.structs.replace(agreement, objectives=[terms]))
    assert "nothing but the plan is disclosed" in said
    assert "evaluations" not in said
    terms = msgspec.structs.replace(terms, best="value")
    (said_more,) = explain_leakage(msgspec.structs.replace(agreement, objectives=[terms]))
    assert "total value" not in said
    assert "total value" in said_more


@pytest.mark.parametrize(
    ("correlation", "words"),
    [
        (0.99, "almost exactly"),
        (0.92, "closely"),
        (0.75, "good picture"),
        (0.45, "rough picture"),
        (0.3, "a little"),
        (0.2, "hardly more"),
    ],
)
def test_each_band_has_its_words(correlation: float, words: str) -> None:
    honest, worst, plan = (LeakageFigure(each, each) for each in (correlation, 1.0, 0.16))
    expected = Expected("range", 0.0, honest, worst, plan, "top:20", beyond=True, smaller=True)
    said = explain_expected(
        expected, disclosure="top:15", evaluations=5, population=30, costs="costs"
    )
    before, _, after = said.partition("The nodes derive")
    assert words in before
    assert "no platform can ask for anything else" in after
    assert "Measured under top:20." in said
    assert "may be more" in said
    assert "as small as this one" in said


STRUCTURED = [
    entry("top:15", 10, 0.9, family="delays", prior="schedule", columns=120, prior_alone=0.8,
          honest_gain=0.45, worst_gain=0.98, plan_gain=0.2),
    entry("sealed", 10, 0.85, family="delays", prior="schedule", columns=120, prior_alone=0.8,
          plan_only=0.85, plan_gain=0.25),
    entry("top:15", 10, 0.75, family="low rank", prior="low rank"),
    entry("top:15", 10, 0.92, family="effects", prior="effects", columns=120),
    entry("top:15", 10, 0.97, kind="tour", family="distances", prior="map", plan_only=0.76),
]  # fmt: skip


def said_of(
    disclosure: str, *, columns: int = 100, asks: Asks = "nodes", kind: str = "assignment",
    **more: Any,
) -> str:  # fmt: skip
    expected = expected_leakage(
        disclosure, kind=kind, rows=100, columns=columns, population=100, evaluations=10,
        entries=[*TABLE, entry("sealed", 10, 0.17, plan_only=0.17), *STRUCTURED], **more,
    )  # fmt: skip
    return explain_expected(
        expected, disclosure=disclosure, evaluations=10, population=100, costs="costs", asks=asks
    )


def test_whoever_knows_the_schedule_knows_most_and_the_rest_is_said() -> None:
    said = said_of("top:15", columns=120, scheduled=True)
    assert "can guess your costs before the run begins (0.80 on a scale" in said
    assert "What follows is what this run adds" in said
    assert "could draw a rough picture of the rest of your costs (0.45)" in said
    assert "The published plan alone tells 0.20." in said
    sealed = said_of("sealed", columns=120, scheduled=True)
    assert "0.80 on a scale" in sealed
    assert "would learn a little about the rest of your costs (about 0.25)" in sealed


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        ("platform", "breaks the agreement with unrestricted queries could reconstruct the rest"),
        ("unmeasured", "settings of its own, whose leakage was not measured: it may be as much"),
    ],
)
def test_where_it_is_not_the_measured_search_the_worst_case_is_said(asks: Asks, words: str) -> None:
    said = said_of("top:15", columns=120, scheduled=True, asks=asks)
    assert words in said
    assert "almost exactly (0.98)" in said


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({}, True),
        ({"population": 100, "elites": 15}, True),
        ({"population": 100, "elites": 5}, False),
        ({"population": 30, "elites": 2}, False),
        ({"elites": 30, "ties": "first"}, True),
        ({"elites": 1}, False),
        ({"tournament": 1}, False),
        ({"mutation": "inversion"}, False),
    ],
    ids=str,
)
def test_only_settings_that_were_measured_have_measured_figures(
    changes: dict[str, Any], measured: bool
) -> None:
    assert resembles_a_preset(SearchParameters(**changes)) is measured
    # With many objectives, which may be public, nothing is selected, whatever the settings are.
    assert not resembles_a_preset(SearchParameters(**changes), objectives=3)


def test_structured_costs_stand_beside_independent_ones() -> None:
    said = said_of("top:15")
    assert "(0.10 on a scale" in said
    assert "If they follow a structure that it knows" in said
    assert "could draw a good picture of your costs (0.75)" in said
    assert "closely (0.92)" in said_of("top:15", columns=120)


def test_structure_never_protects_and_whoever_breaks_the_agreement_may_know_it() -> None:
    low = [entry("top:15", 10, 0.05, family="ties", prior="places", worst=0.99)]
    expected = expected_leakage(
        "top:15", kind="assignment", rows=100, columns=100, population=100, evaluations=10,
        entries=[*TABLE, *low],
    )  # fmt: skip
    assert expected.structured == expected.honest
    assert expected.structured_worst == LeakageFigure(0.99, 0.99)


def test_of_two_kinds_of_schedules_the_one_that_gives_away_more_counts() -> None:
    linear = entry("top:15", 10, 0.9, family="slots", prior="linear schedule", columns=120,
                   prior_alone=0.6, honest_gain=0.97)  # fmt: skip
    expected = expected_leakage(
        "top:15", kind="assignment", rows=100, columns=120, population=100, evaluations=10,
        scheduled=True, entries=[*TABLE, *STRUCTURED, linear],
    )  # fmt: skip
    assert (expected.prior, expected.honest.gain) == ("linear schedule", 0.97)


def test_few_columns_are_a_small_problem() -> None:
    expected = expected_leakage(
        "sealed", kind="capacitated", rows=100, columns=5, population=1, evaluations=1
    )
    assert expected.smaller
    assert expected.measured_kind == "assignment"


def test_tours_are_told_of_the_map() -> None:
    said = said_of("top:15", kind="tour")
    assert said.startswith("Distances come from a map")
    assert "almost exactly (0.97 on a scale" in said
    assert "The published plan alone tells 0.76." in said


@pytest.mark.processes
def test_the_table_is_read_without_the_attacks() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; from tacit.audit import explain_leakage; "
        "print([name for name in ('scipy', 'matplotlib', 'tacit.audit.platform_attacks') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.strip() == "[]"
    assert all(getattr(tacit.audit, name) is not None for name in public_names("tacit.audit"))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(tacit.audit, "nonsense")  # noqa: B009 - type checkers know that it is not there
