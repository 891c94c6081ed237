"""The study file of equity, and the cells that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from studies.equity.series import Conduct, EquitySetting, Market, Series, run_series
from studies.study import Job, Rows, Study, shipped_text, study_from


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


class EquityCell(msgspec.Struct, frozen=True, kw_only=True):
    """Series that differ by their seed alone."""

    group: str
    label: str
    setting: EquitySetting


class EquityJob(Job, frozen=True, kw_only=True):
    """One series in the clear."""

    setting: EquitySetting
    seed: int
    runs: int
    row: ClassVar[Any] = Series

    def compute(self) -> Series:
        """Run the series."""
        return run_series(self.setting, self.seed, self.runs)


class EquityStudy(Study, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the study file says.

    >>> study = shipped_equity()
    >>> study.runs, study.series, len(study.quick().cells()) <= len(study.cells())
    (80, 8, True)
    """

    runs: int
    series: int
    first: FirstStudy
    sweeps: Sweeps
    conducts: tuple[Conduct, ...]

    def jobs(self) -> list[EquityJob]:
        """The series of all cells."""
        return [job for cell in (*self.cells(), *self.audited()) for job in self.jobs_of(cell)]

    def jobs_of(self, cell: EquityCell, /) -> list[EquityJob]:
        """The series of a cell, seed by seed."""
        return [
            EquityJob(setting=cell.setting, seed=seed, runs=self.runs)
            for seed in range(self.series)
        ]

    def write(self, rows: Rows, folder: Path, /) -> None:
        """Write `equity.json`, `tables.md` and `spread.png`."""
        from studies.equity.tables import write_equity

        write_equity(self, rows, folder)

    def cells(self) -> list[EquityCell]:
        """All cells, group by group."""
        return [*self._definitions(), *self._sweeps(), *self._incentives()]

    def audited(self) -> list[EquityCell]:
        """The cells whose plans are looked at for what they tell of levels."""
        made = [
            EquityCell(group="audit", label="without equity", setting=EquitySetting(equity=False))
        ]
        for levels in dict.fromkeys(
            (EquitySetting().levels, *(each[0] for each in self.first.spreads))
        ):
            setting = EquitySetting(levels=levels)
            made.append(EquityCell(group="audit", label=f"levels up to {levels}", setting=setting))
        return made

    def _definitions(self) -> Iterator[EquityCell]:
        for definition in ("plain", "row minima"):
            group = f"definition: {definition}"
            none = EquitySetting(equity=False, definition=definition)
            yield EquityCell(group=group, label="without equity", setting=none)
            for levels, _, _ in self.first.spreads:
                for decay in dict.fromkeys((EquitySetting().decay, 1000)):
                    setting = EquitySetting(levels=levels, decay=decay, definition=definition)
                    yield EquityCell(group=group, label=f"{levels}, decay {decay}", setting=setting)

    def _sweeps(self) -> Iterator[EquityCell]:
        for name in ("levels", "decay", "spacing"):
            for value in getattr(self.sweeps, name):
                yield EquityCell(
                    group=name, label=str(value), setting=EquitySetting(**{name: value})
                )
        for name in ("airlines", "ratio"):
            for value in getattr(self.sweeps, name):
                market = Market(**{name: value})
                yield from _both(name, f"{value:g}", EquitySetting(market=market))
        for value in self.sweeps.moves:
            yield from _both("moves", str(value), EquitySetting(moves=value))

    def _incentives(self) -> Iterator[EquityCell]:
        for conduct in (Conduct(), *self.conducts):
            for airline in range(Market().airlines):
                mine = msgspec.structs.replace(conduct, airline=airline)
                yield from _both("incentives", name_of(conduct), EquitySetting(conduct=mine))
                if conduct.kind in ("truth", "add"):
                    by_plain = EquitySetting(conduct=mine, definition="plain")
                    yield from _both("incentives, plain share", name_of(conduct), by_plain)

    def quick(self) -> EquityStudy:
        """Two short series, and the first of everything."""
        swept = {name: getattr(self.sweeps, name)[:1] for name in self.sweeps.__struct_fields__}
        return msgspec.structs.replace(
            self, runs=min(self.runs, 12), series=2, sweeps=Sweeps(**swept),
            conducts=self.conducts[:1],
        )  # fmt: skip


def _both(group: str, label: str, setting: EquitySetting) -> Iterator[EquityCell]:
    """A cell without equity, and the same with it."""
    for equity in (False, True):
        changed = msgspec.structs.replace(setting, equity=equity)
        yield EquityCell(group=group, label=label, setting=changed)


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
