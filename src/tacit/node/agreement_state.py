"""Hold what a node has of one agreement: inputs, counters, sealed searches, epochs.

All of it is rebuilt from the agreement's folder when the node starts, most of it from the log: a
line is appended there before what it says is done.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import assert_never

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.equity import run_facts
from tacit.agreement.sizes import weights_bytes
from tacit.equity import RunFacts
from tacit.mpc import ArithmeticShare
from tacit.node.counters import Counters
from tacit.node.derivation import Derivation
from tacit.node.epoch_state import Epochs
from tacit.node.inputs import Inputs
from tacit.node.plan_boxes import PlanBoxes
from tacit.node.policy import check_still_valid, refuse
from tacit.node.sealed_progress import KeptState, SealedProgress
from tacit.node.store import Store
from tacit.node.voting import KeptVotes
from tacit.records.ballots import Subject, SubjectKind
from tacit.records.events import (
    AgreementEnded,
    EpochBegun,
    EvaluationBegun,
    NodeLost,
    NodeReturned,
    NumberAdopted,
    RevealBegun,
    RunCounted,
    SearchEvent,
    Voted,
)
from tacit.records.log import FreezingEvent
from tacit.records.messages import RefusalKind
from tacit.records.node_log import LineLimit
from tacit.records.requests import Attempt

HAS_ENDED = "the agreement has ended, and its inputs are deleted; make a new one"
DUE_PART = 0.7
"""From this part of its time on, a run may open its plan however few steps it has made. The rest is
for a platform whose clock began to run before the nodes', and for three requests one after the
other: a node that is asked too early is asked again, and all others wait for it."""


class AgreementState:
    """One agreement at one node."""

    def __init__(
        self, store: Store, *, node: int, key: X25519PrivateKey | None, erased: bool = False
    ) -> None:
        """`key` opens the inputs; it is gone once the agreement has ended.

        It was `erased` if there was no room on the disk for the line in the log that says so.
        """
        self.store, self.agreement, self.hash = store, store.agreement, store.hash
        self.node = node
        self.ended = erased
        self._end_is_logged = False
        self.counted: RunCounted | None = None
        """The line by which the run counts for balances; its plan is not opened before."""
        store.encrypt_states(key)
        self.inputs = Inputs(store, node=node, key=key)
        self.counters = Counters(store, self.inputs)
        self.derivation: Derivation | None = None
        """The agreed search, where the nodes derive the populations themselves."""
        if self.agreement.search.populations == "derived":
            self.derivation = Derivation(store, self.inputs)
        sealed = self.agreement.sealed_run.groups if self.agreement.sealed else ()
        groups = [each.searches for each in sealed]
        self.searches = {group[0]: SealedProgress(store, group) for group in groups}
        """By the first search of each group."""
        self.plan_boxes = {search: PlanBoxes(store, search) for group in groups for search in group}
        """The boxes of plans, where these are for their owners only."""
        self.votes = KeptVotes(store, node=node)
        self.epochs = Epochs(store, self.counters, self.searches, self.derivation)
        self.trouble_lines = LineLimit(burst=1000, per_minute=60)
        """How many lines about refusals and failures a platform may cause in the log."""
        for event in store.log.recent():
            if isinstance(event, EpochBegun | NodeLost | NodeReturned):
                self.epochs.replay(event)
            elif isinstance(event, FreezingEvent):
                self.inputs.replay(event)
            elif isinstance(event, AgreementEnded):
                self.ended = self._end_is_logged = True
            elif isinstance(event, RunCounted):
                self.counted = event
            elif isinstance(event, EvaluationBegun | NumberAdopted | RevealBegun):
                self.counters.replay(event)
            elif isinstance(event, Voted):
                self.votes.replay(event)
            elif not isinstance(event, SearchEvent):
                # A line that nobody replays would silently be forgotten by a restart.
                assert_never(event)
        # Before the node computes anything: on other files than were frozen it would search for
        # other weights than the participants gave. Once the agreement has ended, they are gone.
        if not self.ended:
            self.inputs.check_frozen_files()
            self.counters.use_up_lost()

    def check_not_ended(self) -> None:
        if self.ended:
            raise refuse(HAS_ENDED)

    def has_voted(self, objective: int, /) -> bool:
        """Return whether this node has voted for some inputs of an objective: those stay then.

        A status is for none, and a platform asks for one where any node says that inputs are
        frozen.
        """
        own = self.votes.of(Subject(SubjectKind.INPUTS, objective))
        return bool(own.willing_to) or own.lock is not None

    def pass_fence(self, fence: int, /) -> None:
        """Refuse a process of the platform whose run another one has taken over since.

        It may have been suspended, and know nothing of that. The number is on the disk before
        anything is done for it: a restart must not let an earlier process in again.
        """
        if fence < self.store.fence:
            raise refuse(
                "another process of the platform has taken this run over; leave it to that one",
                kind=RefusalKind.FENCED,
            )
        if fence > self.store.fence:
            self.store.save_fence(fence)

    @property
    def size(self) -> int:
        """Bytes that count for the platform: those that are kept, or that are still to come."""
        return max(self.store.size, self._room)

    def growth(self, more: int, /) -> int:
        """By how much the size would grow with so many more bytes."""
        return max(0, self.store.size + more - self.size)

    @cached_property
    def _room(self) -> int:
        return self.store.agreement_bytes + weights_bytes(self.agreement)

    def end(self, why: str) -> None:
        """Refuse everything from now on; the line is on the disk before anything is deleted."""
        # First: a disk that is full must not let the agreement go on.
        self.ended = True
        if not self._end_is_logged:
            self.store.log.append(AgreementEnded(why))
            self.store.log.sync()
            self._end_is_logged = True

    def erase(self) -> None:
        """Delete the boxes and all shares of an agreement that has ended, here and on the disk."""
        self.inputs.erase()
        for best in self.counters.bests.values():
            best.forget()
        for search in self.searches.values():
            search.forget()
        if self.derivation is not None:
            self.derivation.forget()
        self.store.erase_states()

    @cached_property
    def run_facts(self) -> RunFacts | None:
        return run_facts(self.agreement)

    def write_counted(self, event: RunCounted, /) -> None:
        """Log that the run counts; synced, since its plan may leave the node afterwards."""
        if self.counted is None:
            self.store.log.append(event)
            self.store.log.sync()
            self.counted = event

    def check_counted(self) -> None:
        if self.agreement.equity is not None and self.counted is None:
            raise refuse("the run is not counted yet; have it counted before its plan is opened")

    def check_long_enough(self, search: int, attempt: Attempt, /, *, now: float) -> None:
        """Refuse to open the plan of an assignment after fewer steps than agreed, before it is due.

        A platform that could open a plan after the first exchanges would learn which of the few
        that are known to be possible were worth it. When the time is over a plan is opened anyway.
        """
        if not self.agreement.is_exact:
            return
        run, progress = self.agreement.sealed_run, self.group_with(search)
        assert progress is not None
        if attempt.number >= run.least_steps:
            return
        # The state before the one that was proved may still be here, and is not the optimum.
        if progress.finished is not None and attempt.number >= progress.finished:
            return
        # Groups are solved one after the other, each in its part of the time.
        groups = [each.searches for each in run.groups]
        before = groups[: groups.index(tuple(progress.searches)) + 1]
        due = DUE_PART * run.seconds * sum(map(len, before)) / len(run.weightings)
        if due and progress.started is not None and now - progress.started >= due:
            return
        raise refuse(
            f"{attempt.number} steps were made, and no plan is opened before {run.least_steps} "
            "unless the deadline has come; go on with the run",
            kind=RefusalKind.EARLY,
        )

    def sealed_states(self) -> dict[int, list[Attempt]]:
        """Per group of searches, the attempts whose state is here or would be handed over."""
        return {search: progress.available for search, progress in self.searches.items()}

    def search(self, number: int, /, *, goes_on: bool = False) -> SealedProgress:
        """The progress of a sealed search, which may be opened, or advanced if it `goes_on`."""
        check_still_valid(self.agreement, time.time())
        progress = self.group_with(number)
        if progress is None:
            raise refuse(f"there is no sealed search {number} in this agreement")
        if goes_on and number != progress.searches[0]:
            raise refuse(f"search {number} goes on together with {progress.searches[0]}; name that")
        self.inputs.check_frozen(self.agreement.confidential()[0])
        return progress

    def plan_of(self, search: int, kept: KeptState, /) -> ArithmeticShare:
        progress = self.group_with(search)
        assert progress is not None
        return progress.plan_of(search, kept)

    def group_with(self, search: int, /) -> SealedProgress | None:
        groups = (each for each in self.searches.values() if search in each.searches)
        return next(groups, None)
