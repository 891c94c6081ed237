from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

import tacit.audit
from tacit.audit.expected.explanation import explain_expected, explain_leakage
from tacit.audit.expected.table import Entry, Expected, expected_leakage, measured_entries
from tacit.disclosure import PAPER_CONFIGURATIONS
from tacit.lazy import public_names
from tests.engine.fixtures import example_cast


def entry(disclosure: str, evaluations: int, honest: float, **more: float | None) -> Entry:
    worst = more.get("worst", honest)
    population = int(more.get("population") or 100)
    return Entry("assignment", 100, population, disclosure, evaluations, honest, worst, 0.16, 2.0)


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


def test_measured_points_are_read_off() -> None:
    expected = looked_up("top:15", evaluations=100)
    assert expected.honest == pytest.approx(0.5)
    assert expected.worst == pytest.approx(0.9)
    assert not expected.beyond
    assert looked_up("top:15", evaluations=10).honest == pytest.approx(0.1)
    assert looked_up("top:15", evaluations=1).honest == 0.1


def test_between_points_figures_lie_between_and_beyond_them_the_last_stands() -> None:
    middle = looked_up("top:15", evaluations=32)
    assert 0.1 < middle.honest < 0.5
    assert middle.honest == pytest.approx(0.3, abs=0.01)
    assert looked_up("top:15", evaluations=9999) == Expected(0.5, 0.9, 0.16, "top:15", True, False)


def test_more_evaluations_never_tell_less() -> None:
    assert looked_up("order", evaluations=100).honest == 0.4


def test_smaller_problems_leak_sooner() -> None:
    small, large = (
        looked_up("top:15", evaluations=25, side=50),
        looked_up("top:15", evaluations=100),
    )
    assert small.honest == large.honest
    assert (small.smaller, large.smaller) == (True, False)


def test_the_next_smaller_measured_size_counts() -> None:
    table = [*TABLE, msgspec.structs.replace(TABLE[1], rows=40, honest=0.7)]
    for side, honest in ((100, 0.5), (200, 0.1), (99, 0.7), (40, 0.7), (10, 0.7)):
        expected = expected_leakage("top:15", kind="assignment", rows=side, columns=side,
                                population=100, evaluations=100, entries=table)  # fmt: skip
        assert expected.honest == pytest.approx(honest, abs=0.3 if side == 200 else 1e-6)
        assert expected.smaller == (side == 10)


def test_what_was_not_measured_takes_the_neighbour_that_tells_more() -> None:
    assert looked_up("top:30", evaluations=100) == looked_up("top:60", evaluations=100)
    assert looked_up("top:5", evaluations=100) == looked_up("top:15", evaluations=100)
    assert looked_up("above:90", evaluations=100).measured_as == "top:60"


def test_the_nearest_population_counts() -> None:
    assert looked_up("order", evaluations=10, population=250).honest == 0.6
    # Where the worst case was not measured, another population's stands in.
    assert looked_up("order", evaluations=10, population=250).worst >= 0.6


@pytest.mark.parametrize("kind", ["assignment", "tour"])
def test_the_shipped_table_has_all_of_the_papers_configurations(kind: str) -> None:
    mine = [
        each
        for each in measured_entries()
        if (each.kind, each.rows, each.population) == (kind, 100, 300)
    ]
    assert {each.disclosure for each in mine} == {*PAPER_CONFIGURATIONS, "sealed"}
    last = {each.disclosure: each for each in mine if each.evaluations == 300}
    # What the simplest attacks recover, and so the least that may ever stand here.
    least = {"none": 0.96, "order": 0.91, "quantiles:5": 0.92, "top:60": 0.77, "top:15": 0.35}
    for disclosure, correlation in least.items():
        assert last[disclosure].honest >= correlation
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
    assert expected.honest == expected.worst == expected.plan_only == pytest.approx(0.16, abs=0.01)
    agreement = example_cast().agreement
    terms = msgspec.structs.replace(agreement.objectives[0], disclosure="sealed", best="nothing")
    (said,) = explain_leakage(msgspec.structs.replace(agreement, objectives=[terms]))
    assert "nothing but the plan is disclosed" in said
    assert "evaluations" not in said
    for best, more in (("value", "total value"), ("improvement", "Which generations improved")):
        terms = msgspec.structs.replace(terms, best=best)
        (said_more,) = explain_leakage(msgspec.structs.replace(agreement, objectives=[terms]))
        assert more not in said
        assert more in said_more


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
    expected = Expected(correlation, 1.0, 0.16, "top:20", beyond=True, smaller=True)
    said = explain_expected(
        expected, disclosure="top:15", evaluations=5, population=30, costs="costs"
    )
    honest, _, worst = said.partition("One that breaks")
    assert words in honest
    assert "almost exactly" in worst
    assert "Measured under top:20." in said
    assert "may be more" in said
    assert "as small as this one" in said


@pytest.mark.processes
def test_the_table_is_read_without_the_attacks() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; from tacit.audit import explain_leakage; "
        "print([name for name in ('scipy', 'matplotlib', 'tacit.audit.attacks') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
    assert all(getattr(tacit.audit, name) is not None for name in public_names("tacit.audit"))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(tacit.audit, "nonsense")  # noqa: B009 - type checkers know that it is not there
