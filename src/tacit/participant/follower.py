"""Follow a series: sign the runs that are within it, seal costs, show plans and check logs.

The follower asks the platform what there is and believes it nothing else: `review` holds each run
against what this machine signed, its own records and its own clock. Every few seconds it polls
all runs of the series, finds the state of each and does what the table has for it.

========  ==========================================  ===========  ================================
state     when                                        action       remembered, and where
========  ==========================================  ===========  ================================
TO_SIGN   invited, and not signed in this process     `_sign`      record and agreement, before the
                                                                   signature leaves
TO_SEAL   agreed, and costs of ours are missing       `_seal`      manifests and hashes of rows,
                                                                   before the boxes leave
PAUSED    interrupted: it may go on, and end with     `_pause`     that its logs were in order at
          another plan                                             the last poll, in memory
TO_SHOW   ended, plan not shown or not stored         `_show`      the plan; `stored` in the record
TO_CHECK  ended, logs not checked                     `_check`     `checked` and what it counted for
                                                                   in the record; `stopped`, for all
IDLE      nothing to do now                           none
========  ==========================================  ===========  ================================

A run usually goes from the first state to the last, but the platform says where it is, and may say
anything in any order: so a state never follows from the one before. After a kill the next process
finds the state again from the platform's word and the records on the disk. Every action may then
be repeated: what was signed is signed again with the same bytes, costs that the nodes have are not
sealed again, a plan that was stored replaces itself, and logs are checked anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from tacit.agreement import DAY, Agreement, series_hash
from tacit.client import ListedRun
from tacit.errors import (
    CredentialError,
    FileError,
    ForbiddenError,
    InputError,
    LogError,
    NotThereError,
    PlatformError,
    TacitError,
    TrustError,
    UnprovenError,
)
from tacit.participant.checking import ENDED, check_logs
from tacit.participant.costs import AnyCosts, Wanted
from tacit.participant.plans import own_lines, store_plan
from tacit.participant.profile import Profile
from tacit.participant.results import OwnResult, result, runs, was_shown
from tacit.participant.reviewing import review, sign
from tacit.participant.series_records import (
    MOST_UNSEEN,
    FollowedRun,
    as_followed,
    balance_lines,
    balance_of_run,
    check_not_stopped,
    folder_of_series,
    followed_runs,
    is_sealed_here,
    keep_run,
    signed_series,
    stop_following,
    unseen_runs,
    unseen_words,
)
from tacit.participant.submission import Submission, submissions, submit

AGAIN_SECONDS = 60.0
"""After a failure an action waits so long before it is tried again, unless the costs change."""


class RunState(Enum):
    """The next action for a run on this machine; the module's table explains them."""

    TO_SIGN = auto()
    TO_SEAL = auto()
    PAUSED = auto()
    TO_SHOW = auto()
    TO_CHECK = auto()
    IDLE = auto()


class Logs(Enum):
    """Knowledge of a run's logs in this process. That they were checked is on the disk."""

    UNKNOWN = auto()
    IN_ORDER = auto()
    """So far: the run is interrupted, and they were in order at the last poll."""
    MISSING = auto()
    """The run has ended with costs of ours in it, and its logs could not be had."""


@dataclass
class FollowedProgress:
    """Memory of one run in this process, besides its record on the disk."""

    claimed: str = ""
    """What the platform called it when it was last listed."""
    signed: bool = False
    sealed: bool = False
    """Whether the nodes have accepted all of our costs."""
    presented: bool = False
    """Whether its plan was shown, and stored where that is wanted."""
    logs: Logs = Logs.UNKNOWN
    done: bool = False
    """Whether it has ended and nothing is left to do; old runs are not looked at again."""
    refused: str = ""
    """Why this machine does not sign it, or does not continue with it."""
    undone: dict[str, str] = field(default_factory=dict)
    """What failed by no fault of the others, as on a full disk, and why."""
    tried: dict[int, str] = field(default_factory=dict)
    """Per objective the hash of the file of costs that was tried last."""
    _not_before: dict[str, float] = field(default_factory=dict)

    def may(self, action: str) -> bool:
        """Return whether an action may be tried now."""
        return time.monotonic() >= self._not_before.get(action, 0.0)

    def put_off(self, action: str) -> None:
        """Try an action again only after `AGAIN_SECONDS`: a full disk does not mend in one poll."""
        self._not_before[action] = time.monotonic() + AGAIN_SECONDS

    def retry_now(self) -> None:
        self._not_before.clear()


@dataclass
class Follower:
    """Follows one series; each call of `poll` advances it."""

    profile: Profile
    series_id: str
    costs: AnyCosts | None
    say: Callable[[str], None]
    again: bool = False
    """Whether costs are sealed that were sealed for other runs before."""
    results: Path | None = None
    """A folder for the plans, one CSV per run."""
    check: bool = True
    """Whether the nodes' logs are checked after each run."""
    unseen: int = MOST_UNSEEN
    """With so many runs whose logs were never shown nothing more is signed."""
    progress: defaultdict[str, FollowedProgress] = field(
        default_factory=lambda: defaultdict(FollowedProgress)
    )
    """By run."""
    _records: dict[str, FollowedRun] | None = None
    """Those on the disk, as far as they were read since the last action."""
    _said: set[str] = field(default_factory=set)

    @property
    def refused(self) -> dict[str, str]:
        """Runs that this machine does not sign, and why."""
        return {run: each.refused for run, each in self.progress.items() if each.refused}

    @property
    def undone(self) -> list[str]:
        """Costs not sealed, receipts not kept, plans not stored and marks not made, and why."""
        return [why for each in self.progress.values() for why in each.undone.values()]

    @property
    def missing_logs(self) -> list[str]:
        """Runs that have ended, with costs of ours in them, whose logs could not be had."""
        return sorted(run for run, each in self.progress.items() if each.logs is Logs.MISSING)

    def poll(self) -> None:
        """Do whatever can be done now for all runs of the series."""
        # On the disk, so that a restart does not sign what an earlier process stopped for.
        check_not_stopped(self.profile, self.series_id)
        # Another process (`tacit participant log`) may have written since the last poll.
        self._records = None
        try:
            listed = [each for each in runs(self.profile) if each.series == self.series_id]
            self._note_claims(listed)
            # By number, so that the logs of a run are checked before the next one is signed.
            for run in sorted(listed, key=lambda each: each.series_number or 0):
                self._advance_or_refuse(run)
        except (CredentialError, ForbiddenError):
            raise  # waiting does not help: somebody has to join again
        except PlatformError as error:
            self._once(f"{error}; this is tried again")

    def _note_claims(self, listed: Sequence[ListedRun]) -> None:
        for run in listed:
            self.progress[run.id].claimed = run.state
        interrupted = {each.id for each in listed if each.state == "interrupted"}
        for run_id, each in self.progress.items():
            # Logs in order count only while the run is called interrupted: it may have gone on
            # since, and what the nodes were asked then is not in the logs that were seen.
            if each.logs is Logs.IN_ORDER and run_id not in interrupted:
                each.logs = Logs.UNKNOWN

    def _advance_or_refuse(self, run: ListedRun) -> None:
        """Advance a run; one that makes no sense must not keep this machine from the others."""
        try:
            self._advance(run)
        except (PlatformError, LogError):
            # The platform is away from all runs alike, and contradicting logs end all signing.
            raise
        except TacitError as error:
            self._refuse(run, str(error))

    def _advance(self, run: ListedRun) -> None:
        """Do what is next for a run, until nothing is left or it cannot be done in this poll."""
        state = self._state_of(run)
        while (action := ACTIONS[state]) is not None:
            action(self, run)
            self._records = None
            before, state = state, self._state_of(run)
            # An action that changed nothing has to wait; calling it again would loop for ever.
            if state is before:
                return

    def _state_of(self, run: ListedRun) -> RunState:
        """Look a run up in the module's table, from its first line on."""
        # The state follows from the platform's claim and the records, never from the state before:
        # a platform may claim anything in any order, and a killed process remembers nothing.
        progress = self.progress[run.id]
        if run.state == "invited":
            return (
                RunState.IDLE if progress.signed or not progress.may("sign") else RunState.TO_SIGN
            )
        if run.state == "agreed":
            return RunState.IDLE if progress.sealed else RunState.TO_SEAL
        if progress.done or run.state not in ENDED:
            return RunState.IDLE
        agreement = self._own_agreement(run)
        if agreement is None:
            return RunState.IDLE  # nothing of ours is in it
        record = self._record(run, agreement)
        if run.state == "interrupted":
            return RunState.PAUSED
        if not progress.presented and progress.may("show"):
            return RunState.TO_SHOW
        # A finished run keeps others from being signed, so its logs are asked for at every poll.
        soon = run.state == "finished" or progress.may("check")
        unchecked = self._wants_logs(agreement) and not record.checked
        if unchecked and soon:
            return RunState.TO_CHECK
        progress.done = progress.presented and not unchecked
        return RunState.IDLE

    def _own_agreement(self, run: ListedRun) -> Agreement | None:
        """The agreement signed here for a run, if that is one of the series that is followed."""
        agreement = self.profile.signed_agreement(run.id)
        return agreement if self._is_ours(agreement) else None

    def _is_ours(self, agreement: Agreement | None) -> bool:
        """Return whether it names the series that is followed, whatever the platform says of it."""
        signed = signed_series(self.profile, self.series_id)
        if signed is None:
            raise TrustError(f"this machine has not signed series {self.series_id}; sign it first")
        named = None if agreement is None else agreement.series
        return named is not None and named.series == series_hash(signed)

    def _record(self, run: ListedRun, agreement: Agreement) -> FollowedRun:
        if self._records is None:
            found = followed_runs(self.profile, self.series_id)
            self._records = {each.run: each for each in found}
        return self._records.get(run.id) or as_followed(run.id, agreement)

    def _wants_logs(self, agreement: Agreement) -> bool:
        """Return whether logs are checked: always with balances, which the next run must follow."""
        return self.check or agreement.equity is not None

    def _once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self.say(line)

    # TO_SIGN

    def _sign(self, run: ListedRun) -> None:
        progress = self.progress[run.id]
        finished = [
            run_id for run_id in self.missing_logs if self.progress[run_id].claimed == "finished"
        ]
        # A platform that withholds the logs of a finished run gets no further run signed.
        if finished:
            waiting = ", ".join(finished)
            self._once(f"{_called(run)} is not signed before the logs of {waiting} are checked")
            return
        if self.check:
            # An interrupted run may go on, so that its logs cannot be checked for good yet. It does
            # not count as withheld while its logs were in order at the last poll.
            in_order = [i for i, each in self.progress.items() if each.logs is Logs.IN_ORDER]
            unseen = unseen_runs(self.profile, self.series_id, seen=in_order)
            if len(unseen) >= self.unseen:
                self._refuse(run, unseen_words(unseen))
                return
        try:
            # Where nothing is pinned, the keys were accepted with the series, which fixes them.
            seen = review(self.profile, run.id, unpinned=True)
        except NotThereError:  # it is being drawn up
            return
        # `review` checks it against the series that it names; here that must be the one followed.
        if not self._is_ours(seen.agreement):
            seen.refusals.append(
                "the platform calls it a run of the series, and it names none or another one"
            )
        if seen.refusals:
            self._refuse(run, "; ".join(seen.refusals))
            return
        # The record is on the disk before the signature leaves. If this process dies in between,
        # the number is used and the next process signs the same agreement again; the other way
        # round a second run could be signed under the number.
        sign(self.profile, run.id, seen=seen)
        progress.refused, progress.signed = "", True
        self.say(f"signed {_called(run)}, agreement {seen.hash[:16]}...")

    def _refuse(self, run: ListedRun, why: str) -> None:
        progress = self.progress[run.id]
        progress.refused = why
        progress.put_off("sign")
        self._once(f"REFUSED {_called(run)}: {why}")

    # TO_SEAL

    def _seal(self, run: ListedRun) -> None:
        agreement = self._own_agreement(run)
        if agreement is None:
            self._once(f"{_called(run)} is agreed, says the platform, without this machine")
            return
        if self.costs is None:
            self._once(
                f"{_called(run)} takes your costs, and this machine was given none to seal: tacit "
                f"participant submit {run.id} FILE hands them in"
            )
            return
        own = [k for k in agreement.confidential() if agreement.rows_of(self.profile.account, k)]
        # After a kill between sealing and handing in, or between that and the answer, the platform
        # says what it has: `submit` sends the same boxes again, and draws no new shares.
        states = {each.objective: each for each in submissions(self.profile, run.id)}
        for k in own:
            if k in states and states[k].state != "refused":
                continue
            if k in states:
                self._once(f"{_called(run)}: the nodes refuse your rows: {states[k].reason}")
            self._seal_objective(run, agreement, k, is_only=len(own) == 1)
        self.progress[run.id].sealed = all(
            k in states and states[k].state == "accepted" for k in own
        )

    def _seal_objective(
        self, run: ListedRun, agreement: Agreement, objective: int, *, is_only: bool
    ) -> None:
        assert self.costs is not None
        assert agreement.series is not None
        progress, key = self.progress[run.id], f"costs {objective}"
        number = agreement.series.number
        wanted = Wanted(run.id, number, agreement, self.profile.account, objective, is_only=is_only)
        if not progress.may(key):
            return
        if self.costs.is_slow:
            progress.put_off(key)
        try:
            with self.costs.opened(wanted) as path:
                if path is None:
                    self._once(f"{_called(run)} waits for your costs in {self.costs.words(wanted)}")
                    return
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                if progress.tried.get(objective) == digest:
                    return  # a file that does not fit is tried again once it has changed
                progress.tried[objective] = digest
                done = self._submit(wanted, path, key)
        except PlatformError:
            progress.tried.pop(objective, None)
            raise
        except (InputError, TrustError, OSError) as error:
            why = str(error).removeprefix("nothing was sealed: ")
            progress.undone[key] = f"{_called(run)}: nothing was sealed: {why}"
            more = "" if objective in progress.tried else "; this is tried again"
            self._once(f"{progress.undone[key]}{more}")
            return
        progress.undone.pop(key, None)
        self.say(f"sealed and handed in your costs for {_called(run)}")
        if done.unkept is not None:  # `result` and the check of the logs ask for them again
            why = f"handed in, but its receipts were not kept: {done.unkept}"
            progress.undone[key] = f"{_called(run)}: {why}"
            self._once(progress.undone[key])

    def _submit(self, wanted: Wanted, path: Path, key: str) -> Submission:
        """Hand in a file. A failure that is not the file's, such as a full disk, is tried again."""
        progress, objective = self.progress[wanted.run], wanted.objective
        name = wanted.agreement.objectives[objective].name
        try:
            return submit(self.profile, wanted.run, path, objective=name, again=self.again)
        except (FileError, OSError) as error:
            if not (isinstance(error, FileError) and error.path == str(path)):
                progress.tried.pop(objective, None)
                progress.put_off(key)
            raise

    # PAUSED

    def _pause(self, run: ListedRun) -> None:
        """Check that the logs of an interrupted run are complete so far."""
        self._once(f"{_called(run)} is interrupted{f' ({run.reason})' if run.reason else ''}")
        agreement, progress = self.profile.need_signed_agreement(run.id), self.progress[run.id]
        is_checked = self._record(run, agreement).checked
        if not self.check or is_checked or not progress.may("check"):
            return
        progress.put_off("check")
        # Before the check, so that an error leaves them unknown: withheld logs must not count as
        # those that were in order a minute ago.
        progress.logs = Logs.UNKNOWN
        try:
            check_logs(self.profile, run.id).check()
        except UnprovenError:
            pass  # as after most interruptions
        except (LogError, PlatformError) as error:
            self._once(f"  the logs of {run.id} are not complete so far ({error})")
            return
        if time.time() > agreement.limits.expires + DAY:  # no node goes on, whatever its clock
            keep_run(self.profile, run.id, agreement, checked=True)
        progress.logs = Logs.IN_ORDER

    # TO_SHOW

    def _show(self, run: ListedRun) -> None:
        """Print a plan that was not shown here yet, and store it, whatever the run is called."""
        agreement, progress = self.profile.need_signed_agreement(run.id), self.progress[run.id]
        record, wants_logs = self._record(run, agreement), self._wants_logs(agreement)
        shown_before = was_shown(self.profile, run.id)
        # One that was finished may be called failed until its logs are checked, so it is asked for
        # until then.
        unchecked = wants_logs and not record.checked
        is_new = unchecked or not (wants_logs or shown_before)
        to_store = self.results is not None and not record.stored
        if is_new or to_store:
            # `result` keeps what it shows. After a kill between that and storing the plan, the plan
            # is not said again and is stored all the same.
            outcome = result(self.profile, run.id)
            if is_new and not shown_before and "show" not in progress.undone:
                self._say_plan(run, agreement, outcome)
            if to_store:
                self._store(run, agreement, outcome, unchecked=unchecked)
        progress.presented = "show" not in progress.undone
        if not progress.presented:
            progress.put_off("show")

    def _say_plan(self, run: ListedRun, agreement: Agreement, outcome: OwnResult) -> None:
        why = f" ({outcome.reason})" if outcome.reason else ""
        self.say(f"{_called(run)} is {outcome.state}{why}")
        for line in own_lines(outcome, agreement, self.profile.account, run.id):
            self.say(f"  {line}")

    def _store(
        self, run: ListedRun, agreement: Agreement, outcome: OwnResult, *, unchecked: bool
    ) -> None:
        """Store a plan once; if that fails or is cut short, this process or the next one does.

        The mark in the record counts, not the file, which another program may have taken away.
        After a kill between both the plan is stored a second time, and none is lost.
        """
        assert self.results is not None
        progress, done = self.progress[run.id], "was not stored"
        try:
            is_there = store_plan(outcome, agreement, self.profile.account, self.results)
            done = "was stored, but not marked as stored"
            # Before the logs are checked a run may be called failed that has a plan after all.
            if is_there or not unchecked:
                keep_run(self.profile, run.id, agreement, stored=True)
        except FileError as error:
            progress.undone["show"] = f"{_called(run)}: its plan {done}: {error}"
            self._once(f"{progress.undone['show']}; this is tried again")
        else:
            progress.undone.pop("show", None)

    # TO_CHECK

    def _check(self, run: ListedRun) -> None:
        """Check the logs once. A contradiction ends all signing until a person has looked at it."""
        agreement, progress = self.profile.need_signed_agreement(run.id), self.progress[run.id]
        if run.state != "finished":
            progress.put_off("check")
        try:
            verdict = check_logs(self.profile, run.id)
            known = balance_of_run(self.profile, run.id, agreement)
            for line in [] if known is None else balance_lines(known):
                self.say(f"  {line}")
            verdict.check()
        except UnprovenError as error:
            # Nothing contradicts: a node may have died at the end. The run counts as checked.
            self.say(f"  {error}")
        except FileError as error:
            self._not_kept(run, error)
            return
        except LogError as error:
            # On the disk before this ends: the next process must sign nothing either.
            stop_following(self.profile, self.series_id, f"{run.id}: {error}")
            raise
        except PlatformError as error:
            # A run that never began has no logs; it must not keep later runs from being signed.
            again = run.state == "finished" or is_sealed_here(self.profile, run.id)
            if again:
                progress.logs = Logs.MISSING
            more = "; this is tried again" if again else ""
            self._once(f"  the logs of {run.id} were not checked ({error}){more}")
            return
        else:
            self.say("  everything is as it was signed")
        try:
            # After a kill before this they are checked again.
            keep_run(self.profile, run.id, agreement, checked=True)
        except FileError as error:
            self._not_kept(run, error)
            return
        progress.undone.pop("check", None)
        progress.logs = Logs.UNKNOWN

    def _not_kept(self, run: ListedRun, error: FileError) -> None:
        progress = self.progress[run.id]
        progress.put_off("check")
        progress.undone["check"] = f"{_called(run)}: what its logs show was not kept: {error}"
        self._once(f"{progress.undone['check']}; this is tried again")


ACTIONS: dict[RunState, Callable[[Follower, ListedRun], None] | None] = {
    RunState.TO_SIGN: Follower._sign,
    RunState.TO_SEAL: Follower._seal,
    RunState.PAUSED: Follower._pause,
    RunState.TO_SHOW: Follower._show,
    RunState.TO_CHECK: Follower._check,
    RunState.IDLE: None,
}


def _called(run: ListedRun) -> str:
    return f"run {run.series_number} ({run.id})"


@contextmanager
def following(profile: Profile, series_id: str, /) -> Iterator[None]:
    """Let one process follow a series at a time: two would each count runs by themselves."""
    folder = folder_of_series(profile, series_id)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("wb") as lock:
        # The system releases it when the process ends, however it does: no stale lock remains.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TacitError(
                f"another process follows series {series_id} already; end that one first"
            ) from None
        yield


def follow(follower: Follower, /, *, every: float, once: bool) -> None:
    """Poll every so many seconds, or once and then raise an error if anything was refused."""
    with following(follower.profile, follower.series_id):
        while True:
            follower.poll()
            if once:
                break
            time.sleep(every)
    if follower.refused:
        run, why = next(iter(follower.refused.items()))
        raise TrustError(f"{run} is not signed: {why}. Ask the operator, and the others")
    if follower.undone:
        raise InputError(follower.undone[0])
    if follower.missing_logs:
        raise UnprovenError(
            f"the logs of {', '.join(follower.missing_logs)} could not be had, and your costs "
            "were sealed for it: nothing contradicts what was signed, and nothing proves it"
        )
