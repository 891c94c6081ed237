"""The study file of equity, and the cells that it asks for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from studies.equity.conduct import Conduct
from studies.equity.market import Market
from studies.equity.series import Setting
from studies.study.study_file import shipped_text, study_from


class FirstStudy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Figures that this study is held against."""

    lowest: float
    highest: float
    spreads: tuple[tuple[int, float, float], ...]
    """Levels, spread, and by how many percent the total cost was higher."""


class Sweeps(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is varied, one at a time; everything else is as shipped."""

    levels: tuple[int, ...]
    decay: tuple[int, ...]
    spacing: tuple[int, ...]
    airlines: tuple[int, ...]
    ratio: tuple[float, ...]
    moves: tuple[int, ...]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Series that differ by their seed alone."""

    group: str
    label: str
    setting: Setting


class EquityStudy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the study file says.

    >>> study = shipped_equity()
    >>> study.runs, study.series, len(study.quick().cells()) <= len(study.cells())
    (80, 8, True)
    """

    name: str
    title: str
    runs: int
    series: int
    first: FirstStudy
    sweeps: Sweeps
    conducts: tuple[Conduct, ...]

    def cells(self) -> list[Cell]:
        """All cells, group by group."""
        return [*self._definitions(), *self._sweeps(), *self._incentives()]

    def audited(self) -> list[Cell]:
        """The cells whose plans are looked at for what they tell of levels."""
        made = [Cell(group="audit", label="without equity", setting=Setting(equity=False))]
        for levels in dict.fromkeys((Setting().levels, *(each[0] for each in self.first.spreads))):
            setting = Setting(levels=levels)
            made.append(Cell(group="audit", label=f"levels up to {levels}", setting=setting))
        return made

    def _definitions(self) -> Iterator[Cell]:
        for definition in ("plain", "row minima"):
            group = f"definition: {definition}"
            none = Setting(equity=False, definition=definition)
            yield Cell(group=group, label="without equity", setting=none)
            for levels, _, _ in self.first.spreads:
                for decay in dict.fromkeys((Setting().decay, 1000)):
                    setting = Setting(levels=levels, decay=decay, definition=definition)
                    yield Cell(group=group, label=f"{levels}, decay {decay}", setting=setting)

    def _sweeps(self) -> Iterator[Cell]:
        for name in ("levels", "decay", "spacing"):
            for value in getattr(self.sweeps, name):
                yield Cell(group=name, label=str(value), setting=Setting(**{name: value}))
        for name in ("airlines", "ratio"):
            for value in getattr(self.sweeps, name):
                market = Market(**{name: value})
                yield from _both(name, f"{value:g}", Setting(market=market))
        for value in self.sweeps.moves:
            yield from _both("moves", str(value), Setting(moves=value))

    def _incentives(self) -> Iterator[Cell]:
        for conduct in (Conduct(), *self.conducts):
            for airline in range(Market().airlines):
                mine = msgspec.structs.replace(conduct, airline=airline)
                yield from _both("incentives", name_of(conduct), Setting(conduct=mine))
                if conduct.kind in ("truth", "add"):
                    by_plain = Setting(conduct=mine, definition="plain")
                    yield from _both("incentives, plain share", name_of(conduct), by_plain)

    def quick(self) -> EquityStudy:
        """Two short series, and the first of everything."""
        swept = {name: getattr(self.sweeps, name)[:1] for name in self.sweeps.__struct_fields__}
        return msgspec.structs.replace(
            self, runs=min(self.runs, 12), series=2, sweeps=Sweeps(**swept),
            conducts=self.conducts[:1],
        )  # fmt: skip


def _both(group: str, label: str, setting: Setting) -> Iterator[Cell]:
    """A cell without equity, and the same with it."""
    for equity in (False, True):
        changed = msgspec.structs.replace(setting, equity=equity)
        yield Cell(group=group, label=label, setting=changed)


def name_of(conduct: Conduct, /) -> str:
    """A conduct in words.

    >>> name_of(Conduct(kind="multiply", amount=4, bound="sum"))
    'multiplies its costs by 4, their sum is bounded'
    """
    what = {
        "truth": "states its costs",
        "multiply": f"multiplies its costs by {conduct.amount:g}",
        "add": f"adds {conduct.amount:g} slots of delay to every cell",
        "keep the best": f"multiplies all but its best cells by {conduct.amount:g}",
        "new name": f"takes a new name every {conduct.amount:g} runs",
    }[conduct.kind]
    bounded = {"none": "", "cells": ", each is bounded", "sum": ", their sum is bounded"}
    return what + bounded[conduct.bound]


def shipped_equity() -> EquityStudy:
    """The study of the package."""
    return equity_from(shipped_text("studies.equity", "equity.toml"), "equity.toml")


def equity_from(text: str, path: str, /) -> EquityStudy:
    """Read a study of equity.

    >>> equity_from("name = 1", "x.toml")
    Traceback (most recent call last):
    tacit.errors.FileError: x.toml: at name: expected text, got a whole number; see docs/equity.md
    """
    return study_from(text, path, EquityStudy, see="docs/equity.md")
