"""A run is counted before its plan is opened: prepared by all nodes, then counted by each.

::

    bind      to the one plan of a sealed search, on the disk
    tell      whether the run is counted or prepared here
    account   everybody's step from the plan in shares (`equity`); on the disk as prepared
    tell      that it is; whoever hears it from all counts the run, on the disk
    tell      that it is counted, and open what all are told, where something is; then the log

An attempt is replaced by a later one until somebody has counted it, which nobody does before all
have prepared it. So where one node has counted it, all others have that very attempt, and count it
when they hear of it. No part of the plan leaves a node before it has counted the run: an opened
plan always counts. Where ranks are disclosed, the platform knows the plan before: then the plan
that is counted stands in the entry and in the log, and nothing new is evaluated after it; an entry
that was prepared with another plan than is asked for is not counted in its place. Nor is
anything opened that all are told before all have counted: a void run tells nothing. A run that was
counted and not opened counts, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.account_boxes import seal_told
from tacit.engine.agreement.equity_check import equity_shape, owners_by_name, plan_digest
from tacit.engine.agreement.sealed import words_before_plan
from tacit.engine.agreement.working_memory import account_bytes
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.node.state.policy import refuse
from tacit.engine.node.work.equity.voids import check_counts
from tacit.engine.node.work.off_loop import in_thread
from tacit.engine.node.work.session import ComputingNode, NodeComputation
from tacit.engine.records.events import RunCounted
from tacit.engine.wire.messages import CountRun
from tacit.engine.wire.replies import RunAccounted
from tacit.engine.wire.request import count_hash, unpack_candidates
from tacit.equity import RunEntry, Telling, account_of, columns_of, open_for_all
from tacit.mpc import ArithmeticShare, Session

_NONE = bytes(32)
LARGE_CELLS = 1 << 12
"""Above so many weights, steps take more than a few milliseconds each."""


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


async def count_run(
    node: ComputingNode, agreement_state: AgreementState, request: CountRun
) -> RunAccounted:
    """Count a run for the balances of its series; once, however often it is asked for."""
    computation = NodeComputation(node, agreement_state, request, count_hash(request), None)
    agreement = agreement_state.agreement
    async with computation.begins():
        book = node.series.book_of(agreement)
        if book is None:
            raise refuse("this run is of no series with equity; there is nothing to count")
    async with book.turn:
        async with computation.begins():
            plan = await _plan_to_count(agreement_state, request, book)
        problem = agreement.problem
        async with computation.session(
            size=account_bytes(agreement),
            away=problem.rows * problem.columns > LARGE_CELLS,
            agreed=_hash(str(request.state)),
        ) as session:
            if session.nodes != len(agreement.nodes):
                raise refuse("balances are counted by all nodes together; wait until all are there")
            work = _Counting(session, agreement_state, request, plan, book)
            await computation.run(work.count)
        await in_thread(_write_down, node.number, agreement_state, book, work.opened)
    return computation.reply(RunAccounted, head=book.book.head)


@dataclass(frozen=True, slots=True)
class PlanToCount:
    """The plan of a run: public where candidates are, else shares."""

    columns: Callable[[], NDArray[np.integer[Any]] | ArithmeticShare]
    digest: str = ""
    """Where it is public."""


async def _plan_to_count(
    agreement_state: AgreementState, request: CountRun, book: KeptBook
) -> PlanToCount:
    """The one plan of a sealed search, to which the node binds itself, or one of the best found."""
    agreement = agreement_state.agreement
    if agreement.sealed:
        if request.plan:
            raise refuse("the plan of a sealed search is counted while it is shares; name none")
        kept = await agreement_state.begin_open(request.search, request.state)
        check_counts(agreement, book)
        first = words_before_plan(agreement)
        return PlanToCount(lambda: agreement_state.plan_of(request.search, kept)[first:])
    agreement_state.inputs.check_frozen(0)
    plans = unpack_candidates(agreement.known_problem, request.plan)
    if plans is None or len(plans) != 1:
        raise refuse("one whole plan is counted; name it")
    digest = plan_digest(agreement, plans[0].tolist())
    check_counts(agreement, book, digest)
    assert agreement_state.derivation is not None
    await agreement_state.derivation.check_found_one(plans[0])
    return PlanToCount(lambda: columns_of(agreement.known_problem, plans[0]), digest)


class _Counting:
    """One attempt to count a run."""

    def __init__(
        self,
        session: Session,
        agreement_state: AgreementState,
        request: CountRun,
        plan: PlanToCount,
        book: KeptBook,
    ) -> None:
        self._session, self._state, self._request = session, agreement_state, request
        self._plan, self._book = plan, book
        run = agreement_state.agreement.series
        assert run is not None
        self._number = run.number
        self._agreement = agreement_state.agreement.digest.hex()
        self.opened: tuple[tuple[str, int], ...] = ()
        """What all are told, once the run is counted."""

    async def count(self) -> None:
        """Prepare the run and count it, as far as that is not done."""
        session, kept = self._session, self._book
        counted, prepared = self._names()
        said = {session.me: counted + prepared, **await session.tell(counted + prepared)}
        found = {each[:32] for each in said.values()} - {_NONE}
        if found:
            self._check_prepared(said, found)
        elif len(set(said.values())) > 1 or prepared == _NONE:
            kept.keep(kept.book.prepare(await self._account()))
            self._check_same(await session.tell(self._names()[1]))
        entry = kept.book.prepared
        if entry is not None and self._is_own(entry):
            kept.keep(kept.book.count(self._number, entry.attempt))
        await self._open_for_all()

    async def _open_for_all(self) -> None:
        """Open what all are told; not before all have counted the run, and so for good."""
        entry = self._book.book.latest
        assert entry is not None
        assert self._is_own(entry)
        if entry.for_all is None:
            return
        await self._session.tell(self._names()[0])  # nobody says it who has not counted
        self.opened = await open_for_all(self._session, entry, self._telling(entry.place))

    def _telling(self, place: int) -> Telling:
        equity = self._state.agreement.equity
        assert equity is not None
        return equity.terms.telling(place)

    def _is_own(self, entry: RunEntry) -> bool:
        """Whether it is of this run, and of the plan that is asked for."""
        own = (self._number, self._agreement, self._plan.digest)
        return (entry.number, entry.agreement, entry.plan) == own

    def _names(self) -> tuple[bytes, bytes]:
        """Which attempt is counted here, and which is prepared."""
        book = self._book.book
        counted, prepared = (
            _hash(entry.attempt) if entry is not None and self._is_own(entry) else _NONE
            for entry in (book.latest, book.prepared)
        )
        return counted, prepared

    def _check_prepared(self, said: dict[int, bytes], found: set[bytes]) -> None:
        """Where one has counted the run, all others have prepared that attempt."""
        for node, each in said.items():
            if len(found) > 1 or not {each[:32], each[32:]} & found:
                raise refuse(
                    f"{self._session.name_of(node)} has not prepared the run that others counted: "
                    "its disk was set back, or exchanged; restore it"
                )

    def _check_same(self, said: dict[int, bytes]) -> None:
        ours = self._names()[1]
        for node, each in said.items():
            if each != ours:
                raise refuse(f"{self._session.name_of(node)} prepared another attempt; ask again")

    async def _account(self) -> RunEntry:
        agreement, inputs = self._state.agreement, self._state.inputs
        equity = agreement.equity
        assert equity is not None
        assert inputs.weighted is not None
        shape = equity_shape(agreement)
        attempt = f"{self._request.epoch}:{self._request.attempt}"
        names, place = owners_by_name(agreement, shape), self._book.book.runs + 1
        return await account_of(
            self._session,
            RunEntry(
                self._number,
                attempt,
                names,
                place=place,
                agreement=self._agreement,
                plan=self._plan.digest,
            ),
            inputs.weights(0),
            columns_of(agreement.known_problem, equity.reference),
            self._plan.columns(),
            inputs.weighted.factors(),
            shape,
            book=self._book.book,
            rule=equity.terms.rule,
            telling=self._telling(place),
        )


def _write_down(
    node: int,
    agreement_state: AgreementState,
    book: KeptBook,
    opened: tuple[tuple[str, int], ...],
) -> None:
    """The line in the log by which participants know that the run counts, and what it tells."""
    entry = book.book.latest
    assert entry is not None
    boxes = [] if entry.told is None else seal_told(agreement_state.agreement, node, entry.told)
    agreement_state.write_counted(
        RunCounted(
            entry.number,
            entry.attempt,
            list(entry.participants),
            book.book.head,
            entry.place,
            list(opened),
            boxes,
            entry.plan,
        )
    )
