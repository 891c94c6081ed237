"""A run is within its series, or everything that departs from it is named."""

from __future__ import annotations

import time
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import (
    Series,
    SeriesSchedule,
    check_series,
    departures,
    pin_sealed,
    read_series,
)
from tacit.agreement.draft import check_agreement
from tacit.agreement.series import (
    DAY,
    PACE_SECONDS,
    RunRecord,
    TakenRun,
    objection_to_pace,
    objection_to_run,
)
from tacit.agreement.series_rules import PARTS_OF_PROBLEM, RULES, mask_changes
from tacit.agreement.terms import (
    Agreement,
    Ownership,
    ParticipantTerms,
    RunOfSeries,
    canonical,
)
from tacit.errors import AgreementError
from tacit.problems import PublicProblem, generate_assignment
from tacit.search.moves import AssignmentParameters
from tests.agreement.made_series import run_of, series_like
from tests.on_nodes.fixtures import Cast, example_cast
from tests.on_nodes.owners_cast import owners_cast


@pytest.fixture(scope="module")
def cast() -> Cast:
    return example_cast()


@pytest.fixture(scope="module")
def series(cast: Cast) -> Series:
    return series_like(replace(cast.agreement, search=replace(cast.agreement.search)))


@pytest.fixture
def run(series: Series, cast: Cast) -> Agreement:
    return run_of(series, replace(cast.agreement, limits=_limits(cast.agreement)))


def _limits(agreement: Agreement, **changes: Any) -> Any:
    return replace(agreement.limits, expires=int(time.time()) + 600, **changes)


def test_every_field_of_an_agreement_and_of_a_problem_has_a_rule() -> None:
    assert set(RULES) == set(Agreement.__struct_fields__)
    assert set(PARTS_OF_PROBLEM) == set(PublicProblem.__struct_fields__)


def test_there_is_one_form(series: Series) -> None:
    data = canonical(series)
    assert read_series(data) == series
    for other in (data.replace(b":", b": ", 1), data.replace(b"}", b',"extra":1}', 1), b"[" * 9999):
        with pytest.raises(AgreementError):
            read_series(other)


def test_an_agreement_without_a_series_has_the_bytes_that_it_had(cast: Cast) -> None:
    assert b'"series"' not in canonical(cast.agreement)


def test_what_may_vary_varies(series: Series, run: Agreement) -> None:
    assert departures(series, run, now=time.time()) == []
    larger = replace(
        run.problem,
        rows=3,
        columns=5,
        row_names=["a", "b", "c"],
        forbidden=[(0, 1), (1, 0)],
        name="tuesday",
    )
    owners = [Ownership("owner", [0, 1, 2])]
    objectives = [replace(run.objectives[0], owners=owners)]
    varied = replace(run, problem=larger, objectives=objectives, nonce="ab" * 16)
    assert departures(series, varied, now=time.time()) == []


STRANGER = ParticipantTerms("stranger", "ab" * 32)
CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("platform", {}, "platform"),
    ("reveal_best", {}, "reveal best"),
    ("on_loss", {}, "on loss"),
    ("grace_seconds", {}, "grace seconds"),
    ("plan", {}, "plan"),
    ("search", {"seed": 7}, "search"),
    ("search", {"parameters": {"population": 99}}, "search"),
    ("limits", {"evaluations": 11}, "allows 11 evaluations"),
    ("limits", {"population_min": 1}, "population_min"),
    ("limits", {"population_max": 101}, "population_max"),
    ("limits", {"distinct_min": 1}, "distinct_min"),
    ("limits", {"expires": int(time.time()) + 7200}, "valid for longer"),
    ("problem", {"kind": "tour"}, "kind may not vary"),
    ("problem", {"symmetric": True}, "symmetric may not vary"),
    ("problem", {"version": 2}, "version may not vary"),
    ("problem", {"data": {"capacities": [1, 1]}}, "data may not vary"),
    ("problem", {"rows": 5}, "has 5 rows"),
    ("problem", {"columns": 1}, "has 1 columns"),
    ("problem", {"forbidden": [(0, 0), (0, 1)]}, "fewer than 1 columns"),
    ("objectives", {"disclosure": "order"}, "objectives"),
    ("objectives", {"best": "improvement"}, "objectives"),
    ("objectives", {"weight_bound": 10**6}, "objectives"),
    ("objectives", {"sense": "minimize"}, "objectives"),
    ("objectives", {"owners": []}, "fewer than 1 rows"),
    ("nodes", {"signing_key": "ab" * 32}, "nodes"),
    ("nodes", {"port": 1}, "nodes"),
    ("nodes", {"host": "elsewhere"}, "nodes"),
    ("participants", {"signing_key": "ab" * 32}, "another key"),
    ("participants", {"name": "stranger"}, "did not sign the series"),
]
OTHER = {
    "platform": "ab" * 32,
    "reveal_best": False,
    "on_loss": "three",
    "grace_seconds": 2.0,
    "plan": "owners",
}


@pytest.mark.parametrize(("name", "change", "said"), CHANGES)
def test_whatever_departs_is_named(
    series: Series, run: Agreement, name: str, change: dict[str, Any], said: str
) -> None:
    old = getattr(run, name)
    if not change:
        new = OTHER[name]
    elif isinstance(old, list):
        new = [replace(old[0], **change), *old[1:]]
    else:
        new = replace(old, **change)
    found = departures(series, replace(run, **{name: new}), now=time.time())
    assert any(said in each for each in found), found


MASKED = PublicProblem("slots", "assignment", 3, 6, None, None, [(0, 0), (0, 1), (1, 5)])
NAMED = replace(MASKED, row_names=["a", "b", "c"], column_names=[*"uvwxyz"])


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({}, 0),
        # Pairs that are allowed again count as those that are forbidden.
        ({"forbidden": [(0, 0), (0, 2), (1, 5)]}, 2),
        ({"forbidden": []}, 2),
        ({"forbidden": [*MASKED.forbidden, (2, 0), (2, 1), (2, 3)]}, 3),
        # The same pair twice is one.
        ({"forbidden": [*MASKED.forbidden, (0, 0)]}, 0),
        # Fewer columns and rows: what is not there cannot differ.
        ({"columns": 5, "forbidden": [(0, 0), (0, 1)]}, 0),
        ({"rows": 1, "forbidden": [(0, 0), (0, 1)]}, 0),
        ({"rows": 4, "forbidden": [*MASKED.forbidden, (3, 0)]}, 1),
        # Nobody has looked at the numbers yet.
        ({"forbidden": [*MASKED.forbidden, (99, 0), (0, 99)]}, 0),
    ],
)
def test_how_far_masks_differ(changes: dict[str, Any], differ: int) -> None:
    assert mask_changes(MASKED, replace(MASKED, **changes)) == differ


def test_masks_are_compared_by_name() -> None:
    """Else a platform that lists rows in another order could change any mask, or none would fit."""
    turned = replace(
        NAMED,
        row_names=["c", "b", "a"],
        column_names=[*"zyxwvu"],
        forbidden=[(2, 5), (2, 4), (1, 0)],
    )
    assert mask_changes(NAMED, turned) == 0
    assert mask_changes(NAMED, replace(turned, forbidden=NAMED.forbidden)) == 2
    # A row that the pattern does not have may have no mask of its own.
    assert mask_changes(NAMED, replace(NAMED, row_names=["d", "b", "c"])) == 2


def test_a_mask_that_departs_from_the_pattern_is_named(series: Series, run: Agreement) -> None:
    """A platform that forbids what a row got before learns what it takes instead."""
    wide = replace(run.problem, columns=6, column_names=None)
    near = {"varying": {"most_mask_changes": 1, "least_allowed": 2}}
    strict = series_like(run, **near)
    owners = [Ownership("owner", [0, 1])]
    shown = replace(run, objectives=[replace(run.objectives[0], owners=owners)])
    for masked, said in (
        ([(0, 3), (1, 2)], []),
        ([(0, 3), (0, 2)], ["its mask differs from the pattern's in 2 pairs of a row"]),
    ):
        other = run_of(strict, shown, problem=replace(wide, forbidden=masked))
        found = departures(strict, other, now=time.time())
        assert len(found) == len(said)
        assert all(words in why for words, why in zip(said, found, strict=True))


def test_a_run_of_another_series_or_of_none_is_not_within(series: Series, run: Agreement) -> None:
    for other in (None, RunOfSeries("ab" * 32, 1)):
        (why,) = departures(series, replace(run, series=other), now=time.time())
        assert "another series" in why


def test_somebody_may_be_missing_only_if_that_was_signed(cast: Cast, run: Agreement) -> None:
    more = [*cast.agreement.participants, STRANGER]
    owners = [Ownership("owner", [0]), Ownership("stranger", [1])]
    objective = replace(cast.agreement.objectives[0], owners=owners)
    pattern = replace(cast.agreement, participants=more, objectives=[objective])
    loose = series_like(pattern)
    assert departures(loose, run_of(loose, run), now=time.time()) == []
    strict = series_like(pattern, varying={"least_participants": 2})
    (why,) = departures(strict, run_of(strict, run), now=time.time())
    assert "1 participants are in it, and at least 2" in why


def test_what_does_not_vary_stays_as_it_was_signed(cast: Cast, run: Agreement) -> None:
    fixed = {"parts": [], "most_rows": 2, "most_columns": 2, "most_mask_changes": 0}
    series = series_like(cast.agreement, varying=fixed)
    same = run_of(series, run)
    assert departures(series, same, now=time.time()) == []
    for change in ({"row_names": ["a", "b"]}, {"forbidden": [(0, 1)]}, {"columns": 3}):
        varied = replace(same, problem=replace(same.problem, **change))
        assert departures(series, varied, now=time.time())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"limits": {"runs_per_day": 0}}, "runs per day"),
        ({"limits": {"run_hours": 1000.0}}, "hours"),
        ({"limits": {"deadline_seconds": 9999.0}}, "after its end"),
        ({"varying": {"parts": ["columns", "rows"]}}, "in the order"),
        ({"varying": {"most_rows": 1}}, "let the limits contain it"),
        ({"varying": {"parts": ["columns", "forbidden"]}}, "rows do not vary"),
        ({"varying": {"least_participants": 2}}, "1 are named"),
        ({"varying": {"least_allowed": 3}}, "no more than there are"),
        ({"varying": {"most_mask_changes": 7}}, "no more than there are columns"),
        (
            {"varying": {"parts": ["rows", "columns"], "most_mask_changes": 1}},
            "0 where forbidden pairs do not vary",
        ),
        ({"schedule": SeriesSchedule(every_minutes=60)}, "24 runs a day"),
        ({"schedule": SeriesSchedule()}, "give one of them"),
        ({"schedule": SeriesSchedule(at=["09:00", "08:00"])}, "in their order"),
        ({"name": "a\nb"}, "cannot be seen"),
    ],
)
def test_a_series_that_contradicts_itself_is_not_made(
    cast: Cast, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(AgreementError, match=said):
        series_like(cast.agreement, **changes)


def test_a_series_has_no_seed_and_no_owners_of_objectives(series: Series) -> None:
    for change in (
        {"search": replace(series.search, seed=3)},
        {"objectives": [replace(series.objectives[0], owners=series.owners)]},
    ):
        with pytest.raises(AgreementError):
            check_series(replace(series, **change))


STEPS = AssignmentParameters(generations=2, iterations=12, least=4, seconds=60)
"""As for four rows, which is the most that there may be."""


def sealed_series(parameters: AssignmentParameters = STEPS) -> tuple[Series, Agreement]:
    """A series of sealed assignments, and its pattern."""
    problem = generate_assignment(1, rows=3, columns=4, participants=1)
    pattern = owners_cast(problem=problem, parameters=parameters, plan_for="everybody").agreement
    rules = {name: getattr(pattern.limits, name) for name in POPULATIONS}
    return series_like(pattern, limits={**rules, "evaluations": parameters.steps}), pattern


POPULATIONS = ("population_min", "population_max", "distinct_min")


@pytest.mark.parametrize(
    ("rows", "columns", "forbidden"),
    [(2, 2, []), (4, 6, []), (2, 6, [(0, 1), (1, 1)]), (4, 4, [(row, row) for row in range(4)])],
)
def test_the_settings_of_a_sealed_series_are_those_of_runs_of_any_size(
    rows: int, columns: int, forbidden: list[tuple[int, int]]
) -> None:
    series, pattern = sealed_series()
    shown = replace(pattern.problem, rows=rows, columns=columns, forbidden=forbidden)
    names = {"row_names": None, "column_names": None}
    owners = [Ownership(pattern.participants[0].name, [*range(rows)])]
    run = run_of(
        series,
        pattern,
        problem=replace(shown, **names),
        objectives=[replace(pattern.objectives[0], owners=owners)],
    )
    check_agreement(run)
    assert departures(series, run, now=time.time()) == []


def test_a_run_of_a_sealed_series_may_not_be_shorter_or_open_earlier() -> None:
    """Steps that follow from earlier outcomes of the same costs would tell of these."""
    series, pattern = sealed_series()
    for changes in ({"iterations": 11}, {"least": 0}, {"seconds": 1}, {"checkpoints": "4"}):
        search = pin_sealed(changed(STEPS, **changes))
        limits = replace(pattern.limits, evaluations=changed(STEPS, **changes).steps)
        run = run_of(series, pattern, search=search, limits=limits)
        check_agreement(run)
        assert any("search" in each for each in departures(series, run, now=time.time()))
    fewer = run_of(series, pattern, limits=replace(pattern.limits, evaluations=13))
    with pytest.raises(AgreementError, match="14 generations and iterations"):
        check_agreement(fewer)


def test_a_sealed_series_in_which_deadlines_come_early_is_not_made() -> None:
    with pytest.raises(AgreementError, match="open plans early from 59 s on"):
        sealed_series(changed(STEPS, seconds=59))
    sealed_series(changed(STEPS, seconds=0))


def taken(number: int, at: float = 0.0) -> TakenRun:
    return TakenRun(number, f"{number:064x}", at)


def test_numbers_of_runs_are_used_once_and_only_grow() -> None:
    before = [taken(1), taken(3)]
    assert objection_to_run(before, taken(4)) is None
    assert objection_to_run(before, taken(3)) is None, "the same run once more"
    assert objection_to_run(before, replace(taken(3), agreement="ab")) is not None
    assert objection_to_run(before, taken(2)) is not None
    assert objection_to_run(before, replace(taken(3), run="another name")) is not None


def test_as_many_runs_as_were_signed_are_taken_in_a_day(tmp_path: Path) -> None:
    record = RunRecord(tmp_path / "runs.jsonl")
    for number in (1, 2):
        assert objection_to_pace(record.runs(), taken(number, 10.0), runs_per_day=2) is None
        record.add(taken(number, 10.0))
        record.add(taken(number, 10.0))
    assert len(record.runs()) == 2
    assert objection_to_pace(record.runs(), taken(3, 10.0 + PACE_SECONDS - 1), runs_per_day=2)
    late = taken(3, 10.0 + PACE_SECONDS)
    assert objection_to_pace(record.runs(), late, runs_per_day=2) is None
    # Old runs are forgotten, and the last one never: its number counts.
    for number in (3, 4):
        record.add(taken(number, number * 10 * DAY))
    assert [each.number for each in record.runs()] == [4]
