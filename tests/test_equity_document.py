"""docs/equity.md says what the study found and what the rule computes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec
import numpy as np
import pytest
from studies.equity.figures import AuditFigures, EquityFigures
from studies.equity.study import shipped_equity
from studies.equity.tables import equity_blocks, gain, shares
from studies.tables import ReportPage

from tacit.equity import (
    NEUTRAL,
    UNIT,
    EquityRule,
    EquityShape,
    balance_of,
    factor_of,
    saved_shares,
    steps_of,
)
from tests.support.repository import ROOT

PAGE = (ROOT / "docs/equity.md").read_text()
TEXT = " ".join(PAGE.split())
AIRLINES = {"amber": (100, 40, 10), "birch": (80, 60, 20), "cobalt": (50, 60, 5)}
LATER = (60, 50, 70)


@cache
def data() -> tuple[list[EquityFigures], list[AuditFigures]]:
    written = msgspec.json.decode((files("studies") / "data/equity.json").read_bytes())
    cells = msgspec.convert(written["cells"], list[EquityFigures])
    return cells, msgspec.convert(written["audits"], list[AuditFigures])


def cell(group: str, label: str, *, equity: bool = True) -> EquityFigures:
    (found,) = (
        each
        for each in data()[0]
        if (each.group, each.label, each.setting.equity) == (group, label, equity)
    )
    return found


def signed(text: str) -> str:
    return text.replace("-", "−")


def standing(steps: list[int]) -> str:
    """Step, balance, level and factor as the page has them."""
    rule = EquityRule()
    balance = balance_of(steps, rule)
    factor = factor_of(balance, rule)
    shown = f"{steps[-1]:,} | {balance / (2 * UNIT):.1f} | {factor - NEUTRAL} | {factor} |"
    return signed(shown)


def test_the_worked_example_is_what_the_rule_computes() -> None:
    weights = np.array(list(AIRLINES.values()))
    shape = EquityShape([0, 1, 2], 3, 100)
    saved = saved_shares(weights, np.zeros(3, dtype=int), np.ones(3, dtype=int), shape)
    first, second = steps_of(saved), steps_of(np.array(LATER))
    for k, (name, (a, b, m)) in enumerate(AIRLINES.items()):
        line = f"| {name} | {a} | {b} | {m} | {signed(str(saved[k]))} | "
        assert line + standing([int(first[k])]) in PAGE
        later = f"| {name} | {LATER[k]} | " + standing([int(first[k]), int(second[k])])
        assert later in PAGE
    rule = EquityRule()
    assert f"now count {rule.weights[1]} in place of {rule.weights[0]}" in TEXT
    assert f"{2 * UNIT:,} of it are one 128th" in TEXT


def test_the_rule_in_words_is_the_shipped_one() -> None:
    rule = EquityRule()
    assert f"{rule.decay / 10:g} % of what it counted before" in TEXT
    half = rule.spacing // 2
    assert f"within ±{half} (in 128ths" in TEXT
    assert rule.thresholds[rule.levels] == rule.spacing * UNIT
    assert f"every {rule.spacing} more that you are behind is one level up" in TEXT
    assert f"up to {rule.levels}. In the next run" in TEXT
    assert f"up to {rule.largest_factor} times as large" in TEXT


def line(name: str, each: EquityFigures) -> str:
    cost = f"{each.excess.mean:.1f} % higher" if each.setting.equity else "the least"
    return f"| {name} | {shares(each.saved)} | {each.spread.mean:.2f} | {cost} |"


def test_the_table_of_spread_and_cost_is_measured() -> None:
    minima = "definition: row minima"
    assert line("without equity", cell(minima, "without equity", equity=False)) in PAGE
    assert line("levels up to 4 (shipped)", cell("levels", "4")) in PAGE
    assert line("levels up to 5", cell("levels", "5")) in PAGE
    assert line("levels up to 8", cell("levels", "8")) in PAGE
    assert line("levels up to 8, nothing fades", cell(minima, "8, decay 1000")) in PAGE


def test_the_first_study_is_set_beside_this_one() -> None:
    first = shipped_equity().first
    plain = cell("definition: plain", "without equity", equity=False)
    (few, spread, cost), (many, least, most) = first.spreads
    assert f"found {first.lowest} to {first.highest} without equity" in TEXT
    assert f"a spread of {spread} at {cost} % with levels up to {few} and of {least} at" in TEXT
    assert f"{most} % with levels up to {many}" in TEXT
    four, eight = (cell("definition: plain", f"{k}, decay 1000") for k in (few, many))
    assert (
        f"{min(plain.saved):.2f} to {max(plain.saved):.2f}, {four.spread.mean:.2f} at "
        f"{four.excess.mean:.1f} % and {eight.spread.mean:.2f} at {eight.excess.mean:.1f} %"
    ) in TEXT
    # Within noise, and what the drawing of flights makes of it.
    assert min(plain.saved) == pytest.approx(first.lowest, abs=0.03)
    assert max(plain.saved) == pytest.approx(first.highest, abs=0.03)
    for found, (wanted, percent) in ((four, (spread, cost)), (eight, (least, most))):
        assert found.spread.mean == pytest.approx(wanted, abs=0.03)
        assert found.excess.mean == pytest.approx(percent, abs=0.5)


def test_the_shipped_rule_halves_the_spread_for_less_than_five_percent() -> None:
    without = cell("definition: row minima", "without equity", equity=False)
    shipped = cell("levels", str(EquityRule().levels))
    assert shipped.setting.rule == EquityRule()
    for name in ("spread", "spread_of_possible"):
        assert getattr(shipped, name).mean <= getattr(without, name).mean / 2
    assert shipped.excess.mean + 2 * shipped.excess.error <= 5


def test_what_is_said_of_other_markets_is_measured() -> None:
    ratios = {
        ratio: [f"{cell('ratio', ratio, equity=e).spread.mean:.2f}" for e in (False, True)]
        for ratio in ("1.5", "4")
    }
    assert (
        f"factor of 1.5 the spread falls from {' to '.join(ratios['1.5'])}, by 4 from "
        f"{' to '.join(ratios['4'])}"
    ) in TEXT
    assert f"With 80 % the spread is {cell('decay', '800').spread.mean:.2f}" in TEXT
    costs = []
    for group in ("airlines", "moves"):
        for label in {each.label for each in data()[0] if each.group == group}:
            before, after = (cell(group, label, equity=e) for e in (False, True))
            assert 0.4 < after.spread.mean / before.spread.mean < 0.56
            if group == "airlines":
                costs.append(after.excess.mean)
    assert f"at {min(costs):.1f} to {max(costs):.1f} %" in TEXT


def gains() -> dict[str, list[float]]:
    """By conduct as the page has it: in one run and in a series, the cheapest, the dearest."""
    made = {}
    for group in ("incentives", "incentives, plain share"):
        cells = [each for each in data()[0] if each.group == group]
        for label in dict.fromkeys(each.label for each in cells):
            made[label + group.removeprefix("incentives")] = [
                gain(cells, label, airline, equity=equity)
                for equity in (False, True)
                for airline in (0, 3)
            ]
    return made


def test_gains_of_every_conduct_are_measured() -> None:
    for label, (a, b, c, d) in gains().items():
        if "states its costs" not in label:
            one, series = f"{a:+.2f}, {b:+.2f}", f"{c:+.2f}, {d:+.2f}"
            assert signed(f"| {label} | {one} | {series} |") in PAGE, label


def test_what_is_said_of_gains_holds() -> None:
    found = gains()
    for factor in ("1.5", "2", "4"):
        one, dearest, series, dearest_series = found[f"multiplies its costs by {factor}"]
        assert 0.3 < series / one < 0.55
        assert dearest_series > dearest
    whole = found["multiplies its costs by 4"]
    bounded = found["multiplies its costs by 4, their sum is bounded"]
    assert all(b < a / 2 for a, b in zip(whole, bounded, strict=True))
    constant = "adds 10 slots of delay to every cell"
    assert max(map(abs, found[constant])) == 0
    assert f"would earn up to {max(found[constant + ', plain share']):.2f}" in TEXT
    renamed = found["takes a new name every 16 runs"]
    assert renamed[2] < 0
    assert f"Who is ahead gains {renamed[3]:.2f}" in TEXT


def test_what_plans_tell_is_measured() -> None:
    audits = data()[1]
    for each in audits:
        values = (each.one_run, each.window, each.twin, each.trained, each.standing)
        row = " | ".join(f"{value:.2f}" for value in values)
        assert signed(f"| {each.label} | {row} |") in PAGE
    without, shipped, _ = audits
    assert without.twin > shipped.twin
    assert f"exactly right in {100 * shipped.exact:.0f} % of the runs" in TEXT
    assert f"above its own mean, {shipped.one_run:.2f}" in TEXT


def test_the_documented_tables_are_made_of_the_data() -> None:
    study = shipped_equity()
    page = ReportPage(study.title, equity_blocks(study, *data())).markdown()
    assert (ROOT / "docs/equity/tables.md").read_text() == page
    assert (ROOT / "docs/equity/spread.png").read_bytes().startswith(b"\x89PNG")


def test_the_data_are_those_of_the_study() -> None:
    study = shipped_equity()
    figures, audits = data()
    planned = [(each.group, each.label, each.setting) for each in study.cells()]
    assert [(each.group, each.label, each.setting) for each in figures] == planned
    assert [(each.label, each.setting) for each in audits] == [
        (each.label, each.setting) for each in study.audited()
    ]
    assert f"{study.runs} days in a row" in TEXT
    assert f"Means of {study.series} such series" in TEXT


def test_what_other_documents_cite_is_measured() -> None:
    without, shipped, _ = data()[1]
    assert without.twin > shipped.twin
    assert (
        f"correlates with them by {shipped.twin:.2f}" in (ROOT / "docs/threat-model.md").read_text()
    )
