"""What is agreed of long-term equity: once in a series, and again in every run of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from tacit.equity import EquityRule, Telling

Reference = Literal["first come", "given"]
Told = Literal["nothing", "level", "balance"]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Immutable, and no field that we ignore."""


class EquityTerms(_Part, frozen=True, kw_only=True):
    """The rule of a series, and what is told; every number stands in what is signed."""

    levels: int
    """Weights are multiplied by 16 minus this to 16 plus this."""
    decay: int
    """What is left of a step after one more own run, in thousandths."""
    spacing: int
    """How far ahead one level is, in 128ths of a saved share."""
    reference: Reference
    """The plan that savings are counted from: the rows in their order take the first column that
    they may and that has room, or each run gives one."""
    told: Told
    """What each participant is told of itself: nothing, what it saved and its level, or its
    balance, too."""
    every: int
    """In every so many-th run that counts; others tell nothing."""
    mean: bool = False
    """Whether all are told the mean of the saved shares then."""
    spread: bool = False
    """Whether all are told then how far apart balances are."""

    @property
    def rule(self) -> EquityRule:
        """As the protocols take it; refused where it is out of range."""
        return EquityRule(self.levels, self.decay, self.spacing)

    def telling(self, place: int, /) -> Telling:
        """What is told of this run, of those that count from 1; numbers may be left out."""
        if place % self.every:
            return Telling()
        level = self.told != "nothing"
        return Telling(level, self.told == "balance", self.mean, self.spread)


class RunEquity(_Part, frozen=True, kw_only=True):
    """Equity in one run."""

    terms: EquityTerms
    """As in the series."""
    head: str
    """The head of the chain of all runs that were counted before, in hexadecimal."""
    reference: list[int]
    """The column of each row under the reference plan."""
