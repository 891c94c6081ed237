"""The worker: one run in a process of its own, from the nodes' agreement to the last report.

It is made to be killed. Its files are in a folder that goes with it, and nothing counts before the
platform has stored it in the database. It ends by itself as soon as the platform is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from queue import SimpleQueue

import msgspec
import numpy as np

from tacit.agreement import read_agreement
from tacit.errors import FileError, MpcError, RefusedError, TacitError
from tacit.identity import ClusterConfig, load_cluster_config
from tacit.runs import (
    LEDGER,
    Agreed,
    Progress,
    SearchDriver,
    StopReason,
    agreed_driver,
    disclosed_to_user,
    drive,
)
from tacit.service.execution.progress_file import ProgressFile
from tacit.service.execution.report import (
    Begin,
    LastReport,
    Report,
    RunRequest,
    Stage,
    decode_order,
    framed,
    read_report,
)
from tacit.service.storage.run_files import PROGRESS, FilePart

REPORT_SECONDS = 0.05
"""The shortest time between reports."""
ANSWER_SECONDS = 0.05
"""The search ends this long before the deadline, so that its last report is in time."""
TRIES, LEAST_SECONDS = 3, 1.0
"""How often a run is resumed whose nodes refuse to go on, if so much of its time is left."""
SPEED_OVER = 20
_PR_SET_PDEATHSIG = 1


def work(line: socket.socket, request: RunRequest, /) -> None:
    """Run a search; the process ends with it."""
    _end_with_the_platform()
    worker = Worker(line, request)
    try:
        worker.run()
    except RefusedError as error:
        # Nodes name the kind of what they may grant later, such as a plan before its least steps.
        worker.fail(str(error), can_retry=bool(error.kind))
    except TacitError as error:
        # Nodes may come back, and a disk may have room again.
        worker.fail(str(error), can_retry=isinstance(error, MpcError | FileError))
    except OSError as error:
        traceback.print_exc(file=sys.stderr)
        worker.fail(f"its files cannot be written or read ({error})", can_retry=True)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        worker.fail(f"internal error: {error!r}", can_retry=False)
    line.close()


def _end_with_the_platform() -> None:
    # Ctrl-C reaches workers, too. The platform ends them itself, after it has read their reports.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # Also if it is stopped and cannot notice anything: the server it was forked from ends with
        # the platform, unless this process holds the pipe open that tells it so.
        alive = forkserver._forkserver._forkserver_alive_fd  # type: ignore[attr-defined]
        if alive is not None:
            os.close(alive)
            forkserver._forkserver._forkserver_alive_fd = None  # type: ignore[attr-defined]
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """One run, its pipe to the platform and its files."""

    def __init__(self, line: socket.socket, request: RunRequest, /) -> None:
        self._line, self._request = line, request
        self._folder = Path(request.folder)
        self._started: SimpleQueue[float] = SimpleQueue()
        self._sending, self._keeping = threading.Lock(), threading.Condition()
        self._asked = self._kept = 0
        """The numbers of the last part that was sent to be kept, and of the last that is."""
        self._ledger_sent = 0
        self._last = Report(stage="ready")
        self._reported = 0.0
        self._begun: float | None = None
        self._ends: deque[float] = deque(maxlen=SPEED_OVER)
        self._steps: int | None = None
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """Receive until when to search and what is kept; end when the platform is gone."""
        # A line that is broken is at its end, too.
        with suppress(OSError), self._line.makefile("rb") as orders:
            while len(head := orders.read(4)) == 4:
                order = decode_order(orders.read(*struct.unpack("<I", head)))
                if isinstance(order, Begin):
                    self._started.put(order.until)
                    continue
                with self._keeping:
                    self._kept = order.number
                    self._keeping.notify_all()
        # Without any clean-up: what counts is stored, and a thread that waits for a node could hold
        # the end up.
        os._exit(3)

    def keep(self, path: Path, /) -> None:
        """Have a file stored as it is now, and wait until it is, however long the database is away.

        Of the ledger only what is new is sent.
        """
        with self._keeping:
            part = (
                self._new_ledger()
                if path.name == LEDGER
                else FilePart(path.name, path.read_bytes())
            )
            if part is None:
                return
            self._asked += 1
            number = self._asked
            self._say(msgspec.structs.replace(part, number=number))
            self._keeping.wait_for(lambda: self._kept >= number)

    def _new_ledger(self) -> FilePart | None:
        """What the ledger has and was not sent yet, which counts as sent from now on."""
        with (self._folder / LEDGER).open("rb") as file:
            file.seek(offset := self._ledger_sent)
            data = file.read()
        self._ledger_sent += len(data)
        return FilePart(LEDGER, data, offset) if data else None

    def run(self) -> None:
        """Prepare, wait for the start, search, report."""
        request = self._request
        agreed = Agreed(
            agreement=read_agreement(request.agreement),
            signatures=request.signatures,
            manifests=request.manifests,
            public={k: np.array(rows, dtype=np.int64) for k, rows in request.public.items()},
            fence=request.fence,
        )
        cluster = load_cluster_config(Path(request.cluster))
        if agreed.agreement.sealed:
            groups = len(agreed.agreement.sealed_run.groups)
            self._steps = groups * agreed.agreement.limits.evaluations
        earlier = read_report(self._folder)
        self._before = 0.0 if earlier is None else earlier.seconds
        ledger = self._folder / LEDGER
        self._ledger_sent = ledger.stat().st_size if ledger.exists() else 0
        self._search(agreed, cluster)

    def _search(self, agreed: Agreed, cluster: ClusterConfig) -> None:
        until: float | None = None
        path = self._folder / PROGRESS
        progress = path.read_bytes() if path.exists() else None
        for tries_left in reversed(range(TRIES)):
            with agreed_driver(agreed, cluster, self._folder, keep=self.keep) as driver:
                standing = self._standing(driver, "ready")
                objectives = len(driver.problem.objectives)
                self._progress = ProgressFile(
                    progress, objectives=objectives, after=standing.generation
                )
                if until is None:
                    self._say(self._report(driver, "ready"))
                    until = self._started.get() - ANSWER_SECONDS
                    self._begun = time.monotonic()
                self._report(driver, "running")
                # What nodes refuse after one of them was away, they may take from a coordinator
                # that resumes the run.
                try:
                    reason = drive(driver, until=until, observe=self._observing(driver))
                except RefusedError:
                    if not tries_left or until - time.monotonic() < LEAST_SECONDS:
                        raise
                    continue
                finally:
                    progress = self._progress.whole
                again = reason is StopReason.NODES and driver.can_resume
                if again and tries_left and until - time.monotonic() > LEAST_SECONDS:
                    continue
                # The report first: the deadline waits for it, and for no checkpoint.
                self._end(self._report(driver, "ended", reason))
                # Nor may a disk without room take back what is reported.
                with suppress(OSError, FileError):
                    driver.checkpoint()
                return

    def fail(self, error: str, /, *, can_retry: bool) -> None:
        """The last report: it did not work."""
        failed = msgspec.structs.replace(
            self._last, stage="failed", error=error, can_retry=can_retry
        )
        self._say(failed)

    def _observing(self, driver: SearchDriver) -> Callable[[Progress], None]:
        def observe(progress: Progress) -> None:
            now = time.monotonic()
            if progress.evaluations:
                self._ends.append(now)
            self._progress.add(self._standing(driver, "running").progress())
            if now - self._reported >= REPORT_SECONDS:
                self._publish(self._report(driver, "running"))

        return observe

    def _report(
        self, driver: SearchDriver, stage: Stage, reason: StopReason | None = None
    ) -> Report:
        """Where the run stands, with the best-known plans."""
        plans = driver.plans()
        ended = bool(plans) or driver.for_owners
        several = len(driver.problem.objectives) > 1
        self._last = msgspec.structs.replace(
            self._standing(driver, stage),
            disclosed=disclosed_to_user(driver.problem, driver.disclosed()) if ended else [],
            plans=plans if several else plans[:1],
            values=driver.values() if several else [],
            for_owners=driver.for_owners,
            proved=driver.proved if ended else None,
            gaps=driver.gaps if ended else None,
            searches=list(driver.opened_searches),
            stopped="" if reason is None else reason.value,
            can_retry=reason is StopReason.NODES and driver.can_resume,
            notes=list(driver.notes),
        )
        return self._last

    def _standing(self, driver: SearchDriver, stage: Stage) -> Report:
        """A report without plans, for every generation."""
        now = driver.progress()
        span = self._ends[-1] - self._ends[0] if len(self._ends) > 1 else 0.0
        running = 0.0 if self._begun is None else time.monotonic() - self._begun
        return Report(
            stage=stage,
            seed=driver.seed,
            generation=now.generation,
            steps=self._steps,
            evaluations=now.evaluations,
            seconds=self._before + running,
            evaluations_per_second=(len(self._ends) - 1) / span if span else 0.0,
            best=disclosed_to_user(driver.problem, now.best) if now.best else [],
            at=time.time(),
        )

    def _publish(self, report: Report) -> None:
        """Send a report, after the lines of the progress that it is the last of."""
        self._reported = time.monotonic()
        if (part := self._progress.new_part()) is not None:
            self._say(part)
        self._say(report)

    def _end(self, report: Report) -> None:
        """Send the last report and what it was made of, to be stored together."""
        with self._keeping:
            parts = (self._progress.new_part(), self._new_ledger())
            self._say(LastReport(report, [part for part in parts if part is not None]))

    def _say(self, message: Report | FilePart | LastReport) -> None:
        data = framed(message)
        try:
            # Reports and parts come from different threads.
            with self._sending:
                self._line.sendall(data)
        except OSError:
            os._exit(3)
