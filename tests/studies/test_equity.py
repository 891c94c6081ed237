"""Series in the clear, what is measured of them, and the study from its file to its tables."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from studies.equity.figures import audit, correlation, figures_of, guessed_levels
from studies.equity.series import (
    LARGEST,
    Conduct,
    EquitySetting,
    Market,
    _plan,
    draw_day,
    run_series,
)
from studies.equity.study import EquityCell, equity_from

from tacit.errors import FileError

SMALL = Market(airlines=3, flights=12, slots=18)


def test_a_day_has_a_plan_within_the_rules() -> None:
    day = draw_day(Market(), np.random.default_rng(3))
    rows = np.arange(40)
    assert not day.forbidden[rows, day.reference].any()
    assert len(set(day.reference.tolist())) == 40
    assert np.bincount(day.owners).tolist() == [10] * 4
    assert (day.costs[day.forbidden] == LARGEST).all()


def test_equity_narrows_the_spread_and_costs_something() -> None:
    without, with_it = (
        [run_series(EquitySetting(market=SMALL, equity=e), seed, 30) for seed in (1, 2)]
        for e in (False, True)
    )
    assert [each.excess for each in without] == [0.0, 0.0]
    assert np.mean([np.ptp(each.saved) for each in with_it]) < 0.75 * np.mean(
        [np.ptp(each.saved) for each in without]
    )
    assert all(0 < each.excess < 0.15 for each in with_it)
    assert all(abs(each.levels).max() <= 4 and not each.levels[0].any() for each in with_it)


def test_exchanges_come_near_the_optimum() -> None:
    day, rng = draw_day(Market(), np.random.default_rng(5)), np.random.default_rng(6)
    rows = np.arange(40)
    best, few, many = (
        day.costs[rows, _plan(day, day.costs, moves, rng)].sum() for moves in (0, 300, 20_000)
    )
    assert best <= many < 1.05 * best < few < day.costs[rows, day.reference].sum()


def test_conducts_change_what_one_airline_states() -> None:
    day = draw_day(SMALL, np.random.default_rng(3))
    mine = (day.owners == 1)[:, None] & ~day.forbidden
    for kind, amount in (("multiply", 3.0), ("add", 5.0), ("keep the best", 3.0)):
        stated = Conduct(kind=kind, amount=amount, airline=1).stated(day, SMALL)  # type: ignore[arg-type]
        assert (stated[~mine] == day.costs[~mine]).all()
        assert (stated[mine] >= day.costs[mine]).all()
        assert stated[mine].sum() > day.costs[mine].sum()
    assert (stated.min(axis=1) == day.costs.min(axis=1)).all()
    cells = Conduct(kind="multiply", amount=3, airline=1, bound="cells").stated(day, SMALL)
    assert cells[mine].max() == day.costs[mine].max()
    bounded = Conduct(kind="multiply", amount=30, airline=1, bound="sum").stated(day, SMALL)
    assert bounded[mine].sum() < 3 * day.costs[mine].sum()


def test_a_constant_pays_by_the_plain_share_alone() -> None:
    def levels(definition: str, amount: float) -> list[list[int]]:
        conduct = Conduct(kind="add", amount=amount, airline=2)
        setting = msgspec.convert(
            {"market": SMALL, "definition": definition, "conduct": conduct}, EquitySetting
        )
        found: list[list[int]] = run_series(setting, 1, 12).levels.tolist()
        return found

    assert levels("row minima", 0) == levels("row minima", 40)
    assert levels("plain", 0) != levels("plain", 40)


def test_a_new_name_begins_at_level_zero_and_stays_below() -> None:
    conduct = Conduct(kind="new name", amount=6, airline=0)
    series = run_series(EquitySetting(market=SMALL, conduct=conduct), 1, 18)
    assert series.levels[[6, 12], 0].tolist() == [0, 0]
    assert series.levels[6:, 0].max() <= 0
    assert run_series(EquitySetting(market=SMALL), 1, 18).levels[6:, 0].max() > 0


def test_an_audit_finds_levels_that_follow_from_public_delays() -> None:
    """Where the flights of an airline cost alike, shares follow from delays, and so do levels."""
    alike = Market(airlines=3, flights=12, slots=18, ratio=2, variation=0, fixed=0)
    setting = EquitySetting(market=alike, spacing=1)
    series = [run_series(setting, seed, 12) for seed in range(4)]
    for each in series:
        # Costs are tenths of a slot, so rounding may differ by a part.
        assert abs(guessed_levels(each, setting) - each.levels).mean() < 0.5
    found = audit(EquityCell(group="audit", label="alike", setting=setting), series)
    assert found.twin > 0.9
    noise = np.random.default_rng(1).normal(size=(4, 12, 3))
    assert abs(correlation(list(noise), [each.levels.astype(float) for each in series])) < 0.4


def test_figures_are_means_over_series() -> None:
    setting = EquitySetting(market=SMALL, conduct=Conduct(airline=2))
    series = [run_series(setting, seed, 4) for seed in (1, 2)]
    found = figures_of(EquityCell(group="g", label="l", setting=setting), series)
    assert found.own.mean == pytest.approx(np.mean([each.saved[2] for each in series]), abs=1e-4)
    assert found.saved[2] == pytest.approx(found.own.mean, abs=1e-4)
    assert found.excess.mean == pytest.approx(
        100 * np.mean([each.excess for each in series]), abs=1e-4
    )


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(FileError, match=r"odd\.toml.*colour"):
        equity_from("colour = 1", "odd.toml")
