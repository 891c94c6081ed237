"""A participant's folder remembers sealed rows, and says what they add up to."""

from __future__ import annotations

import json
import shutil
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement
from tacit.agreement.terms import RunOfSeries
from tacit.audit import expected_together, told_by_plans
from tacit.errors import FileError, InputError
from tacit.participant import Profile, budget, budget_lines, new_key_file, repeated, sign, submit
from tacit.participant.leakage_budget import keep_hashes, row_hashes
from tests.on_nodes.fixtures import example_cast
from tests.participant.conftest import World
from tests.participant.platform import RUN
from tests.support.command_line import Tacit

ROWS = np.array([[3, 141, 59], [26, 5, 35], [89, 79, 32], [38, 46, 26]])


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path, "https://x", "owner", "t", 0.0, new_key_file("owner", tmp_path))


@lru_cache(maxsize=1)
def drafted() -> Agreement:
    return example_cast().agreement


def terms(evaluations: int = 500, disclosure: str = "top:15", scale: int = 1) -> Agreement:
    agreement = drafted()
    pay = replace(agreement.objectives[0], disclosure=disclosure, best="nothing", scale=scale)
    limits = replace(agreement.limits, evaluations=evaluations, population_max=300)
    problem = replace(agreement.problem, rows=100, columns=100)
    return replace(agreement, objectives=[pay], limits=limits, problem=problem)


def seal(profile: Profile, run: str, agreement: Agreement, rows: np.ndarray = ROWS) -> None:
    """What `submit` leaves behind, for a run that is over."""
    profile.keep_agreement(run, agreement)
    scale = agreement.objectives[0].scale
    keep_hashes(profile, run, 0, row_hashes(rows, scale, profile.keys()), seconds=1_700_000_000)


def test_the_same_costs_are_noticed_however_they_are_written(profile: Profile) -> None:
    assert repeated(profile, terms(), 0, ROWS) is None
    seal(profile, "r-first", terms(500))
    assert repeated(profile, terms(500), 0, ROWS) is None, "the same agreement, sealed anew"
    found = repeated(profile, terms(300), 0, ROWS[[3, 1, 0, 2]])
    assert found is not None
    assert (found.same, found.rows, found.mostly) == (4, 4, True)
    assert [each.run for each in found.earlier] == ["r-first"]
    # With columns in another order, other decimals, or a few rows changed, they are the same costs.
    turned = repeated(profile, terms(300), 0, ROWS[:, [2, 0, 1]])
    assert turned is not None
    assert turned.same == 4
    finer = repeated(profile, terms(300, scale=100), 0, ROWS * 100)
    assert finer is not None
    assert finer.same == 4
    changed = ROWS.copy()
    changed[:2, 0] += 1
    half = repeated(profile, terms(300), 0, changed)
    assert half is not None
    assert (half.same, half.mostly) == (2, True)
    changed[2, 0] += 1
    little = repeated(profile, terms(300), 0, changed)
    assert little is not None
    assert not little.mostly
    little.check()
    with pytest.raises(InputError, match=r"nothing was sealed: 2 of 4 rows .* add --again"):
        half.check()
    assert repeated(profile, terms(300), 0, ROWS + 1) is None


def test_rows_that_were_refused_count_once_they_are_sealed_again(profile: Profile) -> None:
    seal(profile, "r-first", terms(500))
    seal(profile, "r-first", terms(500), ROWS[:1] + 1)
    found = repeated(profile, terms(300), 0, ROWS)
    assert found is not None
    assert found.same == 4


def test_what_is_kept_tells_no_cost(profile: Profile, tmp_path: Path) -> None:
    """Without the key a guess cannot be tested; after a change of keys nothing is compared."""
    seal(profile, "r-first", terms())
    path = profile.folder / "runs" / "r-first" / "sealed-0.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = json.loads(path.read_text())
    assert set(kept["rows"]) == set(row_hashes(ROWS, 1, profile.keys()))
    new_key_file("other", tmp_path)
    other = Profile(tmp_path, "https://x", "owner", "t", 0.0, tmp_path / "other.key")
    assert not set(kept["rows"]) & set(row_hashes(ROWS, 1, other.keys()))
    assert repeated(other, terms(300), 0, ROWS) is None
    assert not budget(other)[0].comparable
    assert "its rows are not remembered" in budget_lines(budget(other))[1]
    path.write_text("{}")
    with pytest.raises(FileError, match="was changed"):
        repeated(profile, terms(300), 0, ROWS)


def test_evaluations_under_several_agreements_add_up(profile: Profile) -> None:
    alone = expected_together([(terms(100), 0)])
    twice = expected_together([(terms(100), 0), (terms(200), 0)])
    at_once = expected_together([(terms(300), 0)])
    assert alone.estimate == alone.alone < twice.estimate == at_once.estimate
    assert twice.evaluations == {"top:15": 300}
    assert twice.structured is not None
    assert twice.structured > twice.estimate, "costs with a structure give away more"
    # Of different disclosures the one that tells most counts for all.
    mixed = expected_together([(terms(100), 0), (terms(200, "order"), 0)])
    assert mixed.counted_as == "order"
    assert mixed.estimate == expected_together([(terms(300, "order"), 0)]).estimate
    plans = expected_together([(terms(100, "sealed"), 0), (terms(900, "sealed"), 0)])
    assert (plans.plans, plans.evaluations) == (2, {})
    assert plans.estimate == plans.alone
    seal(profile, "r-first", terms(100))
    seal(profile, "r-second", terms(200))
    seal(profile, "r-third", terms(200, "order"), ROWS + 1)
    first, second, third = budget(profile)
    assert (first.same_in, second.same_in, third.same_in) == (["r-second"], ["r-first"], [])
    assert first.together.estimate == twice.estimate
    shown = "\n".join(budget_lines([first, second, third]))
    assert "columns, in r-second: there may be 300 evaluations under top:15" in shown
    assert "sums are estimates" in shown


def masked(number: int, **changes: Any) -> Agreement:
    """A sealed run of a series, with a mask of its own."""
    agreement = terms(100, "sealed")
    pairs = [(row, (row + number) % 100) for row in range(100)]
    problem = replace(agreement.problem, **{"forbidden": pairs, **changes.pop("problem", {})})
    run = RunOfSeries("ab" * 32, number)
    return replace(agreement, problem=problem, series=run, nonce=f"{number:032x}", **changes)


def test_plans_under_different_masks_add_up(profile: Profile) -> None:
    """A platform that may choose masks learns with each plan what a row takes instead."""
    several = [(masked(number), 0) for number in range(1, 101)]
    few, many = expected_together(several[:2]), expected_together(several)
    assert (few.problems, few.plans, many.problems) == (2, 2, 100)
    assert few.alone < few.estimate < many.estimate
    # Measured: the plans of 100 runs that change a sixteenth of a row's pairs.
    assert many.estimate == told_by_plans(100, masks=0.02, sizes=0.0) == 0.59
    half = [(masked(1, problem={"forbidden": [(0, c) for c in range(50)]}), 0), *several[1:]]
    assert expected_together(half).estimate == told_by_plans(100, masks=0.5, sizes=0.0) == 0.94
    # The same problem again has the same plan; and a plan for its owners the platform never sees.
    again = [(masked(number, problem={"forbidden": []}), 0) for number in (1, 2)]
    assert expected_together(again).problems == 1
    assert expected_together(again).estimate == few.alone
    owners = [(replace(each, plan="owners"), 0) for each, _ in several]
    assert (expected_together(owners).problems, expected_together(owners).estimate) == (0, 0.0)


def test_the_budget_counts_runs_of_a_series_whose_masks_or_columns_differ(
    profile: Profile,
) -> None:
    for number in (1, 2):
        seal(profile, f"r-{number}", masked(number))
    # With fewer columns the same costs have other hashes, which cannot be compared.
    fewer = masked(3, problem={"columns": 50, "forbidden": []})
    seal(profile, "r-3", fewer, ROWS[:, :2])
    seal(profile, "r-other", replace(masked(4), series=None), ROWS + 1)
    first, *_, other = budget(profile)
    assert first.same_in == ["r-2", "r-3"]
    assert other.same_in == []
    assert first.together.problems == 3
    shown = "\n".join(budget_lines([first]))
    assert "3 plans are opened, 3 of them with another mask, other rows or columns each" in shown
    assert f"so many told up to {first.together.estimate:.2f}" in shown


def test_submit_wants_a_word_before_it_seals_the_same_again(world: World, tacit: Tacit) -> None:
    for each in world.profiles.values():
        sign(each, RUN)
    north, folder = world.north, ("--profile", world.north.folder)
    assert "nothing was sealed yet" in tacit("budget", *folder).err
    submit(north, RUN, world.csv())
    runs = north.folder / "runs"
    # An earlier run had the same costs under another agreement; here the nodes refused them.
    honest = world.platform.agreement
    earlier = replace(honest, limits=replace(honest.limits, evaluations=5))
    north.keep_agreement("r-earlier", earlier)
    shutil.copy(runs / RUN / "sealed-0.json", runs / "r-earlier")
    world.platform.refuse("north", "a weight is outside 0..3000")
    before = world.platform.stored.rows[0].manifest
    words = ("submit", RUN, world.csv(), *folder)
    said = tacit(*words)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "3 of 3 rows were sealed before, in r-earlier; with this run there may be" in said.err
    assert "11 evaluations under top:4" in said.err
    assert "add --again" in said.err
    assert world.platform.stored.rows[0].manifest == before
    assert "3 of 3 rows were sealed before" in tacit("review", RUN, "--costs", *words[2:]).out
    said = tacit(*words, "--again", "--json")
    assert said.code == 0
    assert "3 of 3 rows" in json.loads(said.out)["repeated"]
    told = json.loads(tacit("budget", "--json", *folder).out)
    assert {each["run"]: each["same_in"] for each in told} == {
        "r-earlier": [RUN],
        RUN: ["r-earlier"],
    }
    assert told[0]["together"]["evaluations"] == {"top:4": 11}
    assert told[0]["rows"] == 3
