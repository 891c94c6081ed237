"""The two hooks by which balances become part of a run, at every node.

::

    before_freeze   all nodes have counted the runs that this one follows; its number is used
    before_search   shares of the weights times their owners' factors, once
    after_run       the run is prepared by all nodes, then counted by each; its plan may leave then

The first two are the hook before a run, on both sides of freezing the inputs; the third is the hook
after it. Each takes a session of all nodes, and may be called again after a failure or a kill: what
is done already is found in the book or in the kept weights, and not done twice. Shares are of one
computation, the *attempt*; those of different attempts do not fit together, so nodes tell each
other the names of attempts before they use any. All honest nodes hear the same (`tell_alike`), and
so do the same: one of four that tells each another thing is found out before anything is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.equity.account import account_of, open_for_all
from tacit.equity.book import RunEntry, StepBook
from tacit.equity.protocol import factors, multiplied
from tacit.equity.rule import EquityShape
from tacit.equity.terms import RunEquity, Telling
from tacit.errors import ParameterError, RefusedError
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare

_HASH = 32
_NONE = bytes(_HASH)
Opened = tuple[tuple[str, int], ...]
"""What all are told of a run, by name."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What everybody signed of balances in one run."""

    number: int
    agreement: str
    """The digest of its agreement: no other run takes its place in a book."""
    equity: RunEquity
    shape: EquityShape
    names: tuple[str, ...]
    """Who takes a step, in the order of the steps."""
    reference: NDArray[np.intp]
    """The column of each row under the reference plan."""

    def telling(self, place: int, /) -> Telling:
        """What is told of it, if it is that of the counted runs."""
        return self.equity.terms.telling(place)

    def is_of(self, entry: RunEntry | None, /) -> bool:
        """Whether an entry is of this run."""
        return entry is not None and entry.agreement == self.agreement


class BookOnDisk(Protocol):
    """The book of the series at the node."""

    book: StepBook

    @property
    def turn(self) -> AbstractAsyncContextManager[Any]:
        """Whoever freezes inputs or counts a run holds it, so that one is never amid the other."""
        ...

    def keep(self, book: StepBook, /) -> None:
        """From now on it is this, also after a power cut."""
        ...


class WeightsOnDisk(Protocol):
    """Shares of the weights times factors on the node's disk."""

    attempt: str
    """The computation that they come from; empty while there are none."""

    def forget(self) -> None:
        """Have none, on the disk, before others are computed."""
        ...

    def keep(self, attempt: str, factors: ArithmeticShare, weights: ArithmeticShare, /) -> None:
        """Keep what a computation gave."""
        ...

    def factors(self) -> ArithmeticShare:
        """Shares of the factor of each participant that has rows."""
        ...


@dataclass(frozen=True, slots=True)
class PlanToCount:
    """The plan of a run: public where candidates are, else shares."""

    columns: Callable[[], NDArray[np.integer[Any]] | ArithmeticShare]
    digest: str = ""
    """Where it is public."""


def _refuse(reason: str) -> RefusedError:
    return RefusedError("the node", reason)


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


class WithoutEquity:
    """The hooks of a run that moves no balance: nothing happens."""

    @property
    def turn(self) -> AbstractAsyncContextManager[Any]:
        """There is no book that anybody could be amid."""
        return nullcontext()

    async def before_freeze(self, session: Session, /) -> None:
        """Nothing is followed, and no number used."""

    async def before_search(
        self, session: Session, stated: Callable[[], ArithmeticShare], /, *, attempt: str
    ) -> None:
        """Weights are searched as they were stated."""

    def check_goes_on(self) -> None:
        """The run goes on until its search ends."""


class WithEquity(WithoutEquity):
    """The hooks of a run of a series that keeps balances."""

    def __init__(self, run: RunFacts, kept: BookOnDisk, weighted: WeightsOnDisk, /) -> None:
        self._run, self._kept, self._weighted = run, kept, weighted

    @property
    def turn(self) -> AbstractAsyncContextManager[Any]:
        """Nothing is frozen while a run is counted, and the other way round."""
        return self._kept.turn

    # Before the run.

    async def before_freeze(self, session: Session, /) -> None:
        """Make sure that all nodes have counted what the run follows, and use its number. 1 round.

        A node that died after it had prepared the last run, and before it heard that all had,
        counts it now: one that has counted it knew that all had prepared it.
        """
        kept = self._kept
        expected = bytes.fromhex(self._run.equity.head)
        ours = bytes.fromhex(kept.book.head) + bytes.fromhex(kept.book.pending or "00" * _HASH)
        # Each tells its head, and the head that it would have if what it prepared were counted.
        said = await session.tell_alike(ours)
        counted = any(each[:_HASH] == expected for each in said.values())
        # A node that lags by one run may catch up, but only if some node has counted that run: it
        # counted because all had prepared it.
        astray = [
            node
            for node, each in said.items()
            if each[:_HASH] != expected and not (counted and each[_HASH:] == expected)
        ]
        if astray:
            # Nobody else is named: one whose disk was set back may be honest.
            who = "this node has" if session.me in astray else "another node says that it has"
            raise _refuse(
                f"{who} counted other runs than those that this one follows; draft it again, or "
                "find out whose disk was set back"
            )
        entry = kept.book.prepared
        if ours[:_HASH] != expected and entry is not None:
            kept.keep(kept.book.count(entry.number, entry.attempt))
        # On the disk before anything is frozen: from now on no earlier run is counted any more. If
        # the node dies here, the number is used, and the same run may use it again.
        try:
            kept.keep(kept.book.freeze(self._run.number))
        except ParameterError as error:
            raise _refuse(str(error)) from None

    async def before_search(
        self, session: Session, stated: Callable[[], ArithmeticShare], /, *, attempt: str
    ) -> None:
        """Have shares of the weights times factors, unless all nodes have those of one attempt.

        If a node lost its own, all forget theirs first. So never two nodes have those of different
        attempts: whoever has new ones heard from all others that they had none.
        """
        weighted = self._weighted
        ours = _hash(weighted.attempt) if weighted.attempt else _NONE
        said = await session.tell_alike(ours)
        if weighted.attempt and all(each == ours for each in said.values()):
            return
        # On the disk before anything new is computed. If the node dies here, it has none at the
        # next call and all compute again: better than two nodes with weights of different attempts,
        # whose sums would be noise that a search builds on.
        weighted.forget()
        run, book, rule = self._run, self._kept.book, self._run.equity.terms.rule
        made = await factors(session, book.balances(run.names, rule), rule, label="equity.factors")
        owners = run.shape.places.tolist()
        weights = await multiplied(session, stated(), made, owners, label="equity.weights")
        # A node that dies before this line has none, says so at the next call, and all forget
        # theirs.
        weighted.keep(attempt, made, weights)

    def check_goes_on(self) -> None:
        """Refuse to evaluate anything new in a run that is counted or void.

        A platform that is told ranks knows its candidates all along, and may end a run before it
        counts. It cannot count one plan and go on searching for another.
        """
        if self._run.is_of(self._kept.book.latest):
            raise _refuse("the run is counted, which was the end; nothing new is evaluated")
        self.check_counts()

    # After the run.

    def check_counts(self, plan: str = "") -> None:
        """Refuse a run that is void, or follows others than were counted; or counted another plan.

        `plan` is the digest of the one that is to be counted, where the platform knows it.
        """
        run, book = self._run, self._kept.book
        latest = book.latest
        # Counted here already: only the same run with the same plan may go on, to open what is
        # told.
        if latest is not None and latest.number == run.number:
            if not run.is_of(latest):
                raise _refuse(
                    f"number {run.number} was counted for another run; this one does not count"
                )
            if latest.plan != plan:
                raise _refuse(
                    f"run {run.number} was counted with another plan; each run counts once"
                )
            return
        if book.frozen != run.number:
            raise _refuse(
                f"run {run.number} is void: run {book.frozen} was frozen after it, or this one "
                "never was; it does not count, and its plan is not opened"
            )
        if book.head != run.equity.head:
            raise _refuse("other runs were counted since this one was frozen; it does not count")

    async def after_run(
        self,
        session: Session,
        stated: Callable[[], ArithmeticShare],
        plan: PlanToCount,
        /,
        *,
        attempt: str,
    ) -> Opened:
        """Prepare the run and count it, as far as that is not done; open what all are told.

        ::

            tell      which attempt is counted or prepared here
            account   everybody's step from the plan in shares; on the disk as prepared
            tell      that it is; whoever hears it from all counts the run, on the disk
            tell      that it is counted, and open what all are told, where something is

        An attempt is replaced by a later one until somebody has counted it, which nobody does
        before all have prepared it. So where one node has counted it, all others have that very
        attempt, and count it when they hear of it: a kill at any line leaves a run that the next
        call, or the next run's `before_freeze`, brings to the same end everywhere.
        """
        kept = self._kept
        counted, prepared = self._names(plan)
        said = await session.tell_alike(counted + prepared)
        # Attempts that somebody has counted. There is one at most: see `_check_prepared`.
        found = {each[:_HASH] for each in said.values()} - {_NONE}
        if found:
            _check_prepared(said, found)
        elif len(set(said.values())) > 1 or prepared == _NONE:
            # Nobody has counted it, and not all have prepared the same: so it is computed anew.
            entry = await self._account(session, stated, plan, attempt)
            # On the disk before it is told: who hears that all have prepared it may count, and we
            # must then be able to count the same, even after a crash.
            kept.keep(kept.book.prepare(entry))
            ours = self._names(plan)[1]
            for each in (await session.tell_alike(ours)).values():
                if each != ours:
                    raise _refuse("not all nodes have prepared the same attempt; ask again")
        # From here on every node has prepared the same attempt, on its disk. Whoever dies before it
        # counts finds it there, and counts it at the next call.
        ready = kept.book.prepared
        if ready is not None and self._is_own(ready, plan):
            kept.keep(kept.book.count(self._run.number, ready.attempt))
        return await self._open_for_all(session, plan)

    async def _open_for_all(self, session: Session, plan: PlanToCount) -> Opened:
        """Open what all are told; not before all have counted the run, and so for good."""
        entry = self._kept.book.latest
        assert entry is not None
        assert self._is_own(entry, plan)
        if entry.for_all is None:
            return ()
        # Nobody says it who has not counted. Else a node whose operator lets its last write fail
        # would hear numbers of runs that never count, as often as it likes.
        await session.tell(self._names(plan)[0])
        return await open_for_all(session, entry, self._run.telling(entry.place))

    def _is_own(self, entry: RunEntry, plan: PlanToCount) -> bool:
        """Whether it is of this run, and of the plan that is asked for."""
        own = (self._run.number, self._run.agreement, plan.digest)
        return (entry.number, entry.agreement, entry.plan) == own

    def _names(self, plan: PlanToCount) -> tuple[bytes, bytes]:
        """Hashes of the attempts that are counted here, and prepared."""
        book = self._kept.book
        counted, prepared = (
            _hash(entry.attempt) if entry is not None and self._is_own(entry, plan) else _NONE
            for entry in (book.latest, book.prepared)
        )
        return counted, prepared

    async def _account(
        self,
        session: Session,
        stated: Callable[[], ArithmeticShare],
        plan: PlanToCount,
        attempt: str,
    ) -> RunEntry:
        run, book = self._run, self._kept.book
        place = book.runs + 1
        return await account_of(
            session,
            RunEntry(
                run.number,
                attempt,
                run.names,
                place=place,
                agreement=run.agreement,
                plan=plan.digest,
            ),
            stated(),
            run.reference,
            plan.columns(),
            self._weighted.factors(),
            run.shape,
            book=book,
            rule=run.equity.terms.rule,
            telling=run.telling(place),
        )


def _check_prepared(said: dict[int, bytes], found: set[bytes]) -> None:
    """Where one has counted the run, all others have prepared that attempt."""
    if len(found) > 1 or any(not {each[:_HASH], each[_HASH:]} & found for each in said.values()):
        # Nobody is named: one that lies can say that it has counted what nobody prepared.
        raise _refuse(
            "a node says that it has counted the run in another way than all have prepared it: the "
            "disk of one was set back or exchanged, or it lies; find out whose, and restore it"
        )
