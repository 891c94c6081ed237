"""A machine that follows a series: it signs runs that are within it, seals costs, shows plans.

It asks the platform what there is and believes it nothing else: `review` holds each run against
what this machine signed, its own record and its own clock. A run that does not fit is refused, and
said so, and the next one is looked at. If the nodes' logs show that somebody did not keep to a run,
it signs nothing more.
"""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tacit.client import RunSummary
from tacit.engine.agreement import Agreement
from tacit.engine.series import DAY, series_hash
from tacit.errors import (
    FileError,
    InputError,
    LogError,
    PlatformError,
    TacitError,
    TrustError,
    UnprovenError,
)
from tacit.participant.account.profile import Profile
from tacit.participant.account.shapes import Outcome, Submission
from tacit.participant.checking import ENDED, check_logs
from tacit.participant.results import result, runs
from tacit.participant.reviewing import review, sign
from tacit.participant.series.accounts import account_lines, account_of_run
from tacit.participant.series.cost_sources import AnyCosts, Wanted
from tacit.participant.series.kept import (
    check_not_stopped,
    folder_of_series,
    is_checked,
    is_stored,
    mark_checked,
    mark_stored,
    signed_series,
    stop_following,
)
from tacit.participant.series.plans import is_shown, own_lines, store_plan
from tacit.participant.series.unseen_logs import (
    MOST_UNSEEN,
    is_sealed_here,
    unseen_runs,
    unseen_words,
)
from tacit.participant.submission import submissions, submit

AGAIN_SECONDS = 60.0
"""So long after it failed something is not tried again, unless the costs are other ones."""


@dataclass
class Follower:
    """Follows one series for as long as somebody calls `look`."""

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
    refused: dict[str, str] = field(default_factory=dict)
    """Runs that this machine does not sign, and why."""
    _said: set[str] = field(default_factory=set)
    _not_before: dict[str, float] = field(default_factory=dict)
    _tried: dict[tuple[str, int], str] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)
    """What is signed, sealed or shown, so that the platform is not asked about it again."""
    _unchecked: set[str] = field(default_factory=set)
    """Finished runs whose logs could not be had: nothing is signed before they are checked."""
    unseen: int = MOST_UNSEEN
    """With so many runs whose logs were never shown nothing more is signed."""
    withheld: set[str] = field(default_factory=set)
    """Other runs that have ended, with costs of ours in them, whose logs could not be had."""
    undone: dict[str, str] = field(default_factory=dict)
    """Costs that were not sealed, receipts not kept and plans not stored, and why."""
    _interrupted: set[str] = field(default_factory=set)
    """Runs that are called interrupted, and whose logs were in order at the last look."""

    def look(self) -> None:
        """Do whatever can be done now for all runs of the series."""
        check_not_stopped(self.profile, self.series_id)
        self._unchecked.clear()
        try:
            found = [each for each in runs(self.profile) if each.series == self.series_id]
            self._interrupted &= {each.id for each in found if each.state == "interrupted"}
            for run in sorted(found, key=lambda each: each.series_number or 0):
                self._advance_or_refuse(run)
        except PlatformError as error:
            if error.status in (401, 403):
                raise
            self._once(f"{error}; this is tried again")

    def _advance_or_refuse(self, run: RunSummary) -> None:
        """A run that makes no sense must not keep this machine from the others."""
        try:
            self._advance(run)
        except (PlatformError, LogError):
            raise
        except TacitError as error:
            self.refused[run.id] = str(error)
            self._once(f"REFUSED {_called(run)}: {error}")

    def _is_ours(self, agreement: Agreement | None) -> bool:
        """Whether it names the series that is followed, whatever the platform says of it."""
        signed = signed_series(self.profile, self.series_id)
        if signed is None:
            raise TrustError(f"this machine has not signed series {self.series_id}; sign it first")
        named = None if agreement is None else agreement.series
        return named is not None and named.series == series_hash(signed)

    def _advance(self, run: RunSummary) -> None:
        if run.state == "invited":
            self._sign(run)
        elif run.state == "agreed":
            self._seal(run)
        elif run.state in ENDED:
            self._show(run)

    def _once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self.say(line)

    def _waits(self, key: str) -> bool:
        """Whether something failed a short while ago; otherwise it counts as tried now."""
        if self._is_early(key):
            return True
        self._not_before[key] = time.monotonic() + AGAIN_SECONDS
        return False

    def _is_early(self, key: str) -> bool:
        return time.monotonic() < self._not_before.get(key, 0.0)

    def _sign(self, run: RunSummary) -> None:
        key = f"signed {run.id}"
        if key in self._settled:
            return
        if run.id in self.refused and self._waits(key):
            return
        if self._unchecked:
            waiting = ", ".join(sorted(self._unchecked))
            self._once(f"{_called(run)} is not signed before the logs of {waiting} are checked")
            return
        if self.check:
            missing = unseen_runs(self.profile, self.series_id, seen=self._interrupted)
            if len(missing) >= self.unseen:
                self._refuse(run, unseen_words(missing))
                return
        try:
            # Where nothing is pinned, the keys were accepted with the series, which fixes them.
            made = review(self.profile, run.id, unpinned=True)
        except PlatformError as error:
            if error.status == 404:  # it is being drawn up
                return
            raise
        if not self._is_ours(made.agreement):
            made.refusals.append(
                "the platform calls it a run of the series, and it names none or another one"
            )
        if made.refusals:
            self._refuse(run, "; ".join(made.refusals))
            return
        sign(self.profile, run.id, seen=made)
        self.refused.pop(run.id, None)
        self._settled.add(key)
        self.say(f"signed {_called(run)}, agreement {made.hash[:16]}...")

    def _refuse(self, run: RunSummary, why: str) -> None:
        self.refused[run.id] = why
        self._not_before[f"signed {run.id}"] = time.monotonic() + AGAIN_SECONDS
        self._once(f"REFUSED {_called(run)}: {why}")

    def _seal(self, run: RunSummary) -> None:
        key = f"sealed {run.id}"
        agreement = self.profile.signed_agreement(run.id)
        if key in self._settled:
            return
        if agreement is None or not self._is_ours(agreement):
            self._once(f"{_called(run)} is agreed, says the platform, without this machine")
            return
        if self.costs is None:
            self._once(
                f"{_called(run)} takes your costs, and this machine was given none to seal: tacit "
                f"participant submit {run.id} FILE hands them in"
            )
            return
        own = [k for k in agreement.confidential() if agreement.rows_of(self.profile.account, k)]
        states = {each.objective: each for each in submissions(self.profile, run.id)}
        missing = [k for k in own if k not in states or states[k].state == "refused"]
        for k in missing:
            if k in states:
                self._once(f"{_called(run)}: the nodes refuse your rows: {states[k].reason}")
            self._seal_objective(run, agreement, k, is_only=len(own) == 1)
        if all(k in states and states[k].state == "accepted" for k in own):
            self._settled.add(key)

    def _seal_objective(
        self, run: RunSummary, agreement: Agreement, objective: int, *, is_only: bool
    ) -> None:
        assert self.costs is not None
        assert agreement.series is not None
        number = agreement.series.number
        wanted = Wanted(run.id, number, agreement, self.profile.account, objective, is_only=is_only)
        key = f"costs {run.id} {objective}"
        if self._is_early(key) or (self.costs.is_slow and self._waits(key)):
            return
        try:
            with self.costs.opened(wanted) as path:
                if path is None:
                    self._once(f"{_called(run)} waits for your costs in {self.costs.words(wanted)}")
                    return
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                if self._tried.get((run.id, objective)) == digest:
                    return
                self._tried[run.id, objective] = digest
                done = self._submit(wanted, path, key)
        except PlatformError:
            self._tried.pop((run.id, objective), None)
            raise
        except (InputError, TrustError, OSError) as error:
            why = str(error).removeprefix("nothing was sealed: ")
            self.undone[key] = f"{_called(run)}: nothing was sealed: {why}"
            more = "" if (run.id, objective) in self._tried else "; this is tried again"
            self._once(f"{self.undone[key]}{more}")
            return
        self.undone.pop(key, None)
        self.say(f"sealed and handed in your costs for {_called(run)}")
        if done.unkept is not None:  # `result` and the check of the logs ask for them again
            why = f"handed in, but its receipts were not kept: {done.unkept}"
            self.undone[key] = f"{_called(run)}: {why}"
            self._once(self.undone[key])

    def _submit(self, wanted: Wanted, path: Path, key: str) -> Submission:
        """Hand in a file; what is no fault of the file, as a full disk, is tried again with it."""
        run, objective = wanted.run, wanted.objective
        name = wanted.agreement.objectives[objective].name
        try:
            return submit(self.profile, run, path, objective=name, again=self.again)
        except (FileError, OSError) as error:
            if not (isinstance(error, FileError) and error.path == str(path)):
                self._tried.pop((run, objective), None)
                self._not_before[key] = time.monotonic() + AGAIN_SECONDS
            raise

    def _show(self, run: RunSummary) -> None:
        key, agreement = f"shown {run.id}", self.profile.signed_agreement(run.id)
        if key in self._settled or agreement is None or not self._is_ours(agreement):
            return
        if run.state == "interrupted":  # it may go on, with another plan in the end
            self._once(f"{_called(run)} is interrupted{f' ({run.reason})' if run.reason else ''}")
            wanted = self.check and not is_checked(self.profile, run.id)
            if wanted and not self._waits(f"logs {run.id}"):
                self._look_into(run, agreement)
            return
        # Whatever the platform calls it: one that was finished may be shown as failed. Where
        # balances are kept, the next run must follow this one if it counts.
        wanted = self.check or agreement.equity is not None
        unchecked = wanted and not is_checked(self.profile, run.id)
        shown = f"plan {run.id}"
        if shown not in self._settled and not (shown in self.undone and self._waits(shown)):
            new = unchecked or not (wanted or is_shown(self.profile, run.id))
            if new or self._is_to_store(run):
                outcome = self._show_plan(run, agreement, new=new and shown not in self.undone)
                self._store_plan(run, agreement, outcome, shown, unchecked=unchecked)
            if shown not in self.undone:
                self._settled.add(shown)
        if unchecked:
            if run.state != "finished" and self._waits(f"logs {run.id}"):
                return
            self._check(run)
        if shown in self._settled and run.id not in self._unchecked | self.withheld:
            self._settled.add(key)

    def _show_plan(self, run: RunSummary, agreement: Agreement, *, new: bool) -> Outcome:
        """Say a new plan, unless it was seen before."""
        new = new and not is_shown(self.profile, run.id)
        outcome = result(self.profile, run.id)
        if new:
            why = f" ({outcome.reason})" if outcome.reason else ""
            self.say(f"{_called(run)} is {outcome.state}{why}")
            for line in own_lines(outcome, agreement, self.profile.account, run.id):
                self.say(f"  {line}")
        return outcome

    def _is_to_store(self, run: RunSummary) -> bool:
        return self.results is not None and not is_stored(self.profile, run.id)

    def _store_plan(
        self, run: RunSummary, agreement: Agreement, outcome: Outcome, key: str, *, unchecked: bool
    ) -> None:
        """Store a plan once; if that fails or is cut short, this process or the next one does.

        The mark counts, not the file, which another program may have taken away.
        """
        if self.results is None or not self._is_to_store(run):
            return
        done = "was not stored"
        try:
            is_there = store_plan(outcome, agreement, self.profile.account, self.results)
            done = "was stored, but not marked as stored"
            # Before the logs are checked a run may be called failed that has a plan after all.
            if is_there or not unchecked:
                mark_stored(self.profile, run.id)
        except FileError as error:
            self.undone[key] = f"{_called(run)}: its plan {done}: {error}"
            self._once(f"{self.undone[key]}; this is tried again")
        else:
            self.undone.pop(key, None)

    def _account(self, run: RunSummary) -> list[str]:
        """What was told of balances, where they are kept."""
        agreement = self.profile.signed_agreement(run.id)
        known = None if agreement is None else account_of_run(self.profile, run.id, agreement)
        return [] if known is None else account_lines(known)

    def _check(self, run: RunSummary) -> None:
        """Check the logs once; what they contradict ends all signing until somebody looks at it."""
        self._interrupted.discard(run.id)
        try:
            verdict = check_logs(self.profile, run.id)
            for line in self._account(run):
                self.say(f"  {line}")
            verdict.check()
        except UnprovenError as error:
            self.say(f"  {error}")
        except LogError as error:
            stop_following(self.profile, self.series_id, f"{run.id}: {error}")
            raise
        except PlatformError as error:
            # One that never began has no logs; it must not end all later runs.
            again = run.state == "finished" or is_sealed_here(self.profile, run.id)
            if again:
                (self._unchecked if run.state == "finished" else self.withheld).add(run.id)
            more = "; this is tried again" if again else ""
            self._once(f"  the logs of {run.id} were not checked ({error}){more}")
            return
        else:
            self.say("  everything is as it was signed")
        self.withheld.discard(run.id)
        mark_checked(self.profile, run.id)

    def _look_into(self, run: RunSummary, agreement: Agreement) -> None:
        """Whether the logs of a run that may go on are there; what they prove, its end shows."""
        self._interrupted.discard(run.id)
        try:
            check_logs(self.profile, run.id).check()
        except UnprovenError:
            pass  # as after most interruptions
        except (LogError, PlatformError) as error:
            self._once(f"  the logs of {run.id} are not complete so far ({error})")
            return
        if time.time() > agreement.limits.expires + DAY:  # no node goes on, whatever its clock
            mark_checked(self.profile, run.id)
        self._interrupted.add(run.id)


def _called(run: RunSummary) -> str:
    return f"run {run.series_number} ({run.id})"


@contextmanager
def following(profile: Profile, series_id: str, /) -> Iterator[None]:
    """Only one process follows a series at a time: two would each count runs by themselves."""
    folder = folder_of_series(profile, series_id)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TacitError(
                f"another process follows series {series_id} already; end that one first"
            ) from None
        yield


def follow(follower: Follower, /, *, every: float, once: bool) -> None:
    """Look every so many seconds, or once; ends with an error if a run was refused then."""
    with following(follower.profile, follower.series_id):
        while True:
            follower.look()
            if once:
                break
            time.sleep(every)
    if follower.refused:
        run, why = next(iter(follower.refused.items()))
        raise TrustError(f"{run} is not signed: {why}. Ask the operator, and the others")
    if follower.undone:
        raise InputError(next(iter(follower.undone.values())))
    if follower.withheld:
        raise UnprovenError(
            f"the logs of {', '.join(sorted(follower.withheld))} could not be had, and your costs "
            "were sealed for it: nothing contradicts what was signed, and nothing proves it"
        )
