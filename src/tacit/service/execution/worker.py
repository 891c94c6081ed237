"""The worker: one run in a process of its own, from the nodes' agreement to the last report.

It is made to be killed. What it has found is in the last report, what it was told in the ledger,
and it ends by itself as soon as the platform is gone.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from queue import SimpleQueue

import msgspec

from tacit.engine.agreement.terms import read_agreement
from tacit.engine.identity.config import ClusterConfig, load_cluster_config
from tacit.errors import MpcError, RefusedError, TacitError
from tacit.runs.agreed import Agreed, AgreedRun
from tacit.runs.agreed_sealed import AgreedSealedRun
from tacit.runs.limits import StopReason
from tacit.runs.run import GenerationView
from tacit.runs.sealed_loop import SealedRun, SealedView
from tacit.runs.summarize import told_to_user
from tacit.service.execution.progress_file import ProgressFile
from tacit.service.execution.report import (
    LOCK,
    Report,
    RunRequest,
    Stage,
    read_report,
    write_report,
)

REPORT_SECONDS = 0.05
"""Reports come at most so often; one more or less does not make an answer worse."""
ANSWER_SECONDS = 0.05
"""The search ends so long before the deadline, so that its last report is there in time."""
LOCK_SECONDS = 10.0
TRIES, LEAST_SECONDS = 3, 1.0
"""How often a run is taken up whose nodes refuse to go on, if so much of its time is left."""
SPEED_OVER = 20
_PR_SET_PDEATHSIG = 1


def work(line: socket.socket, order: RunRequest, /) -> None:
    """Carry out a run; the process ends with it."""
    _end_with_the_platform()
    worker = Worker(line, order)
    try:
        worker.run()
    except TacitError as error:
        worker.fail(str(error), can_retry=isinstance(error, MpcError))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        worker.fail(f"a mistake of ours: {error!r}", can_retry=False)
    line.close()


def _end_with_the_platform() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # Also if it is stopped and cannot notice anything: the server it was forked from ends with
        # the platform.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """One run, its pipe to the platform and its files."""

    def __init__(self, line: socket.socket, order: RunRequest, /) -> None:
        self._line, self._order = line, order
        self._folder = Path(order.folder)
        self._started: SimpleQueue[float] = SimpleQueue()
        self._last = Report(stage="ready")
        self._reported = self._begun = 0.0
        self._ends: deque[float] = deque(maxlen=SPEED_OVER)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """The platform says one thing: until when to search. When it is gone, so are we."""
        data = b""
        while len(data) < 8:
            part = self._line.recv(8 - len(data))
            if not part:
                os._exit(3)
            data += part
        self._started.put(struct.unpack("<d", data)[0])
        if not self._line.recv(1):
            os._exit(3)

    def run(self) -> None:
        """Prepare, wait for the start, search, report."""
        order = self._order
        agreed = Agreed(
            agreement=read_agreement(order.agreement),
            signatures=order.signatures,
            manifests=order.manifests,
        )
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (self._folder / LOCK).open("w")
        _take(lock)
        cluster = load_cluster_config(Path(order.cluster))
        conduct = self._conduct_sealed if agreed.agreement.sealed else self._conduct
        conduct(agreed, cluster)
        lock.close()

    def _conduct(self, agreed: Agreed, cluster: ClusterConfig) -> None:
        until: float | None = None
        for tries_left in reversed(range(TRIES)):
            with AgreedRun(agreed, cluster, self._folder, observe=self._observe) as run:
                self._progress = ProgressFile(
                    self._folder,
                    objectives=len(run.problem.objectives),
                    after=run.run.now.search.generation,
                )
                if until is None:
                    self._send(self._report(run, "ready"))
                    until = self._started.get() - ANSWER_SECONDS
                self._report(run, "running")
                reason = run.to_its_limits(until=until)
                # What nodes refuse after one of them was away, they may take from a coordinator
                # that takes them up anew.
                again = reason is StopReason.NODES and until - time.monotonic() > LEAST_SECONDS
                if not again or not tries_left:
                    self._say(self._report(run, "ended", reason))
                    run.save()
                    break

    def _conduct_sealed(self, agreed: Agreed, cluster: ClusterConfig) -> None:
        """The nodes search; before the plan is opened there is nothing to tell but the time."""
        earlier = read_report(self._folder)
        self._before = 0.0 if earlier is None else earlier.seconds
        until: float | None = None
        for tries_left in reversed(range(TRIES)):
            with AgreedSealedRun(
                agreed, cluster, self._folder, observe=self._observe_sealed
            ) as run:
                self._progress = ProgressFile(
                    self._folder, objectives=len(run.problem.objectives), after=run.generation
                )
                self._sealed = run
                if until is None:
                    self._send(self._report_sealed("ready"))
                    until = self._started.get() - ANSWER_SECONDS
                    self._begun = time.monotonic()
                self._report_sealed("running")
                try:
                    runs = run.to_its_limits(until=until)
                except RefusedError:
                    if not tries_left or until - time.monotonic() < LEAST_SECONDS:
                        raise
                    continue
                self._say(self._report_sealed("ended", runs))
                return

    def fail(self, error: str, /, *, can_retry: bool) -> None:
        """The last report: it did not work."""
        failed = msgspec.structs.replace(
            self._last, stage="failed", error=error, can_retry=can_retry
        )
        try:
            self._send(failed)
        except OSError:
            return  # nobody is there to be told

    def _observe(self, _view: GenerationView) -> None:
        now = time.monotonic()
        self._ends.append(now)
        self._progress.add(self._standing(self._run, "running").progress())
        if now - self._reported >= REPORT_SECONDS:
            self._say(self._report(self._run, "running"))

    def _report(self, run: AgreedRun, stage: Stage, reason: StopReason | None = None) -> Report:
        self._run, known = run, run.run.now.best_known
        self._last = msgspec.structs.replace(
            self._standing(run, stage),
            told=[] if known is None else told_to_user(run.problem, known.told),
            plans=run.plans() if len(run.problem.objectives) > 1 else run.plans()[:1],
            stopped="" if reason is None else reason.value,
            notes=list(run.run.notes),
        )
        return self._last

    def _observe_sealed(self, _view: SealedView) -> None:
        report = self._report_sealed("running")
        self._progress.add(report.progress())
        if time.monotonic() - self._reported >= REPORT_SECONDS:
            self._say(report)

    def _report_sealed(self, stage: Stage, runs: Sequence[SealedRun] = ()) -> Report:
        """Generations and time alone; with the plans once they are opened."""
        run, ended = self._sealed, list(runs)
        self._last = Report(
            stage=stage,
            generation=run.generation,
            seconds=self._before + (time.monotonic() - self._begun if self._begun else 0.0),
            best=[None] * len(run.problem.objectives),
            told=run.told(ended) if ended else [],
            plans=[each.opened.plan for each in ended],
            stopped=ended[-1].reason.value if ended else "",
            notes=[note for each in ended for note in each.notes],
        )
        return self._last

    def _standing(self, run: AgreedRun, stage: Stage) -> Report:
        """A report without plans, for every generation."""
        now, known = run.run.now, run.run.now.best_known
        span = self._ends[-1] - self._ends[0] if len(self._ends) > 1 else 0.0
        return Report(
            stage=stage,
            seed=run.run.seed,
            generation=now.search.generation,
            evaluations=now.evaluations,
            seconds=now.seconds,
            evaluations_per_second=(len(self._ends) - 1) / span if span else 0.0,
            best=[] if known is None else told_to_user(run.problem, known.highest),
        )

    def _say(self, report: Report) -> None:
        """Into the file first: what the platform has heard is there after its death."""
        self._reported = time.monotonic()
        write_report(self._folder, report)
        self._progress.flush()
        self._send(report)

    def _send(self, report: Report) -> None:
        data = msgspec.msgpack.encode(report)
        try:
            self._line.sendall(struct.pack("<I", len(data)) + data)
        except OSError:
            os._exit(3)


def _take(lock: TextIOWrapper) -> None:
    """Wait until no other worker has this run: one of an earlier platform may just be ending."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise MpcError("another worker still has this run") from None
            time.sleep(0.05)
        else:
            return
