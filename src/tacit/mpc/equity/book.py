"""The steps of a series at one node: what was counted, once, and in which order.

A run is prepared at every node, and counted when all have prepared the same attempt: shares of
different attempts do not fit together. The head is a hash of everything public that was counted,
run by run, so that nodes and participants notice a book that was set back, or differs. Runs that
move no balance are in it, too. Nothing here sends or stores anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.errors import ParameterError
from tacit.mpc.equity.before_run import balances
from tacit.mpc.equity.rule import MEMORY, EquityRule
from tacit.mpc.shares import ArithmeticShare, concatenate

NEW_FOR = 32
"""For how many of its runs somebody who joined later is a newcomer."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run of a series, and what it adds to balances."""

    number: int
    attempt: str
    """Which computation of the steps it was, the same at all nodes; empty if none was needed."""
    participants: tuple[str, ...] = ()
    """Who took a step, in the order of the steps; nobody in a run that moves no balance."""
    steps: ArithmeticShare | None = None

    @property
    def public(self) -> bytes:
        """All of it that is no share."""
        return json.dumps([self.number, self.attempt, self.participants]).encode()


@dataclass(frozen=True)
class StepBook:
    """What a node keeps of a series; every change gives a new book.

    >>> book = StepBook(components=(1, 2), founders=("amber", "birch", "cobalt"))
    >>> steps = ArithmeticShare({c: np.zeros(3, dtype=np.uint64) for c in (1, 2)})
    >>> entry = RunEntry(1, "first", book.founders, steps)
    >>> counted = book.prepare(entry).count(1, "first")
    >>> counted.participated("amber"), counted.count(1, "first") is counted
    (1, True)
    """

    components: tuple[int, ...]
    """The components of shares that the node holds."""
    founders: tuple[str, ...]
    """Who signed the series when it began: they are no newcomers."""
    counted: tuple[RunEntry, ...] = ()
    prepared: RunEntry | None = None
    _heads: tuple[str, ...] = field(default=(), repr=False)

    @property
    def last(self) -> int:
        """The number of the last run that was counted."""
        return self.counted[-1].number if self.counted else 0

    @property
    def head(self) -> str:
        """The head of the chain of all that was counted."""
        return self._heads[-1] if self._heads else hashlib.sha256(b"").hexdigest()

    def prepare(self, entry: RunEntry) -> StepBook:
        """Take what a run adds; a later attempt takes the place of one that was not counted."""
        if entry.number <= self.last:
            raise ParameterError(
                f"run {entry.number} cannot be prepared, run {self.last} is counted; "
                "each run counts once"
            )
        if (0 if entry.steps is None else len(entry.steps)) != len(entry.participants):
            raise ParameterError(f"run {entry.number} has not one step for each who took part")
        return replace(self, prepared=entry)

    def count(self, number: int, attempt: str) -> StepBook:
        """Count a run that all nodes have prepared; one that is counted changes nothing."""
        if any((past.number, past.attempt) == (number, attempt) for past in self.counted):
            return self
        entry = self.prepared
        if entry is None or (entry.number, entry.attempt) != (number, attempt):
            raise ParameterError(f"attempt {attempt!r} of run {number} was not prepared here")
        head = hashlib.sha256(self.head.encode() + b"|" + entry.public).hexdigest()
        return replace(
            self, counted=(*self.counted, entry), prepared=None, _heads=(*self._heads, head)
        )

    def participated(self, name: str) -> int:
        """How many steps a participant has taken."""
        return sum(name in entry.participants for entry in self.counted)

    def is_newcomer(self, name: str) -> bool:
        """Whether its level is at most 0: it joined later, and not long ago."""
        return name not in self.founders and self.participated(name) < NEW_FOR

    def own_steps(self, name: str) -> ArithmeticShare:
        """Shares of the participant's last steps, the last one last."""
        none = np.zeros(0, dtype=np.uint64)
        own = [ArithmeticShare(dict.fromkeys(self.components, none))]
        for entry in self.counted:
            if entry.steps is not None and name in entry.participants:
                at = entry.participants.index(name)
                own.append(entry.steps[at : at + 1])
        return concatenate([own[0], *own[1:][-MEMORY:]])

    def balances(self, names: Sequence[str], rule: EquityRule) -> ArithmeticShare:
        """Shares of the balances of these participants."""
        return balances([self.own_steps(name) for name in names], rule)
