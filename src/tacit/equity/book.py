"""The book of a series at one node: the steps of all counted runs, each counted once, in order.

A run is prepared at every node, and counted when all have prepared the same attempt: shares of
different attempts do not fit together. The head is a hash of everything public that was counted,
run by run, so that nodes and participants notice a book that was set back, or differs. Freezing the
inputs of a run uses its number: runs before it that were not counted by then are void. Of each
participant the steps that count in its balance are kept, and how many it took. Nothing here sends
or stores anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.equity.protocol import balances
from tacit.equity.rule import MEMORY, EquityRule
from tacit.errors import ParameterError
from tacit.mpc.shares import ArithmeticShare, concatenate

FIRST_HEAD = hashlib.sha256(b"").hexdigest()
"""The head of a book in which nothing is counted."""
MOST_VOIDS = 64
"""So many void runs are remembered, the last ones."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run of a series, and what it adds to balances."""

    number: int
    attempt: str
    """Which computation of the steps it was, the same at all nodes; empty if none was needed."""
    participants: tuple[str, ...] = ()
    """Who took a step, in the order of the steps; nobody in a run that moves no balance."""
    steps: ArithmeticShare | None = None
    told: ArithmeticShare | None = None
    """Participants x numbers: what each is told of itself, where that was agreed for this run."""
    for_all: ArithmeticShare | None = None
    """What everybody is told, where that was agreed for this run; opened once all have counted."""
    place: int = 0
    """Which of the counted runs it is, from 1; numbers may have gaps, and these have none."""
    agreement: str = ""
    """The hash of the agreement that it is a run of: no other run takes its place."""
    plan: str = ""
    """The digest of the plan that was counted, where it was public; empty where it was shares."""

    @property
    def public(self) -> bytes:
        """All of it that is no share."""
        # Shares stay out: the head must be the same at all nodes.
        public = [self.number, self.place, self.attempt, self.participants, self.agreement]
        return json.dumps([*public, self.plan] if self.plan else public).encode()


def head_after(head: str, entry: RunEntry) -> str:
    """The head of the chain, once this is counted."""
    return hashlib.sha256(head.encode() + b"|" + entry.public).hexdigest()


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
    """Who signed the series."""
    latest: RunEntry | None = None
    """The last run that was counted."""
    prepared: RunEntry | None = None
    head: str = FIRST_HEAD
    """The head of the chain of all that was counted."""
    frozen: int = 0
    """The last run whose inputs were frozen here."""
    voids: tuple[int, ...] = ()
    """The last runs that were frozen here, and never counted."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """How many steps each has taken."""
    steps: Mapping[str, ArithmeticShare] = field(default_factory=dict)
    """Of each the last steps, the last one last."""
    runs: int = 0
    """How many runs were counted."""

    @property
    def last(self) -> int:
        """The number of the last run that was counted."""
        return 0 if self.latest is None else self.latest.number

    @property
    def pending(self) -> str:
        """The head that there would be if what is prepared were counted; empty without that."""
        return "" if self.prepared is None else head_after(self.head, self.prepared)

    def freeze(self, number: int) -> StepBook:
        """Use a number, since the inputs of that run are frozen; runs before it stay as they are.

        >>> book = StepBook(components=(1, 2), founders=()).freeze(1).freeze(3)
        >>> book.voids, book.freeze(3) is book
        ((1,), True)
        """
        self._check_number(number)
        if number == self.frozen:
            return self
        # A number that was used and not counted is void for good: otherwise a platform could freeze
        # the inputs of two runs and count the one whose outcome it prefers.
        void = (self.frozen,) if self.frozen > self.last else ()
        return replace(self, frozen=number, voids=(*self.voids, *void)[-MOST_VOIDS:], prepared=None)

    def _check_number(self, number: int) -> None:
        if number <= self.last:
            raise ParameterError(
                f"run {number} cannot be prepared, run {self.last} is counted; each run counts once"
            )
        if number < self.frozen:
            raise ParameterError(
                f"run {number} is void, since run {self.frozen} was frozen after it; it never "
                "counts"
            )

    def prepare(self, entry: RunEntry) -> StepBook:
        """Take what a run adds; a later attempt takes the place of one that was not counted."""
        self._check_number(entry.number)
        if (0 if entry.steps is None else len(entry.steps)) != len(entry.participants):
            raise ParameterError(f"run {entry.number} has not one step for each who took part")
        return replace(self, prepared=entry)

    def count(self, number: int, attempt: str) -> StepBook:
        """Count a run that all nodes have prepared; if it is the last that is, nothing changes."""
        if self.latest is not None and (self.last, self.latest.attempt) == (number, attempt):
            # Counting twice changes nothing: after a crash a node cannot know whether its answer
            # arrived.
            return self
        entry = self.prepared
        # Shares of different attempts do not fit together: only the very attempt that all prepared
        # counts.
        if entry is None or (entry.number, entry.attempt) != (number, attempt):
            raise ParameterError(f"attempt {attempt!r} of run {number} was not prepared here")
        taken, steps = dict(self.taken), dict(self.steps)
        for at, name in enumerate(entry.participants):
            assert entry.steps is not None
            taken[name] = self.participated(name) + 1
            # Older steps have no weight left, so the book does not grow with the series.
            steps[name] = concatenate([self.own_steps(name), entry.steps[at : at + 1]])[-MEMORY:]
        return replace(
            self,
            latest=entry,
            prepared=None,
            head=head_after(self.head, entry),
            taken=taken,
            steps=steps,
            runs=self.runs + 1,
        )

    @property
    def members(self) -> tuple[str, ...]:
        """All who have a balance, whoever took part last."""
        return tuple(sorted({*self.founders, *self.taken}))

    def participated(self, name: str) -> int:
        """How many steps a participant has taken."""
        return self.taken.get(name, 0)

    def own_steps(self, name: str) -> ArithmeticShare:
        """Shares of the participant's last steps, the last one last."""
        none = np.zeros(0, dtype=np.uint64)
        return self.steps.get(name, ArithmeticShare(dict.fromkeys(self.components, none)))

    def balances(self, names: Sequence[str], rule: EquityRule) -> ArithmeticShare:
        return balances([self.own_steps(name) for name in names], rule)
