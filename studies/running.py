"""Running studies: compute what is missing, keep each row as it comes, then write.

Jobs are computed by processes on this machine or by a Dask cluster. Both are a
`concurrent.futures.Executor`, so that nothing else knows the difference.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import wait
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from studies.study import Job, Rows, RowStore, Study, encoded, write_json
from tacit.errors import ParameterError, TacitError
from tacit.runs import show_duration

LIBRARIES = ("tacit", "numpy", "numba", "scipy", "polars", "msgspec")
Advance = Callable[[str, int], None]
"""Called with the name of a study and how many more of its jobs are finished."""


@dataclass(frozen=True)
class Finished:
    """A study with all its rows."""

    study: Study
    folder: Path
    rows: Rows
    computed: int
    reused: int
    seconds: float


def run_study(
    study: Study, out: Path, pool: Executor, /, *, advance: Advance | None = None
) -> Finished:
    """Bring a study to its end in the folder `out`/name; kept rows are not computed again."""
    started = time.monotonic()
    store, folder = RowStore(out / "rows"), out / study.name
    # A run that several cells of a study need is computed once.
    jobs = list(dict.fromkeys(study.jobs()))
    missing = store.missing(jobs)
    _describe(study, folder)
    if advance is not None:
        advance(study.name, len(jobs) - len(missing))
    for _ in _computed(missing, store, pool):
        if advance is not None:
            advance(study.name, 1)
    rows = {job: store.read(job) for job in jobs}
    study.write(rows, folder)
    seconds = time.monotonic() - started
    return Finished(study, folder, rows, len(missing), len(jobs) - len(missing), seconds)


def _computed(missing: Sequence[Job], store: RowStore, pool: Executor) -> Iterator[Job]:
    # The longest first, so that none of them runs alone at the end.
    in_order = sorted(missing, key=lambda job: -job.effort)
    futures: dict[Future[bytes], Job] = {pool.submit(compute, job): job for job in in_order}
    try:
        for future in as_completed(futures):
            job = futures.pop(future)
            store.keep(job, _result_of(future, job))
            yield job
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def compute(job: Job, /) -> bytes:
    """Compute a job and give its row as bytes, which is what travels between processes."""
    return encoded(job.compute())


def _result_of(future: Future[bytes], job: Job) -> bytes:
    try:
        return future.result()
    except TacitError:
        raise
    except Exception as error:
        raise TacitError(
            f"the run with {job.label} failed ({error!r}); "
            "finished runs are kept, so correct the cause and start again"
        ) from error


def _describe(study: Study, folder: Path) -> None:
    """Write the configuration, and the versions unless they are on record already."""
    write_json(folder / "study.json", study.about())
    path = folder / "versions.json"
    known = msgspec.json.decode(path.read_bytes()) if path.exists() else []
    if versions() not in known:
        write_json(path, [*known, versions()])


def versions() -> dict[str, str]:
    """What rows depend on beside their jobs."""
    found = {"python": platform.python_version(), "system": platform.system()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def executor(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor: a pool of processes, or the cluster of a Dask scheduler."""
    if scheduler is not None:
        if workers is not None:
            raise ParameterError("a cluster brings its own workers; leave --workers out")
        with _cluster(scheduler) as cluster:
            yield cluster
        return
    if workers is not None and workers < 1:
        raise ParameterError(f"workers is {workers}; give at least 1")
    # Spawned and not forked: libraries here hold threads and locks that a fork would tear apart.
    pool = ProcessPoolExecutor(
        workers or usable_cores(),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_follow_parent,
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _follow_parent() -> None:
    """Let a worker end when its parent was killed, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError:
        raise TacitError(
            "a Dask cluster needs dask.distributed; run pip install -e '.[studies]' in the clone"
        ) from None
    try:
        client = Client(scheduler, timeout="10s")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise TacitError(
            f"no Dask scheduler answers at {scheduler} ({error}); start one with 'dask scheduler'"
        ) from None
    with client, client.get_executor() as cluster:  # type: ignore[no-untyped-call]
        yield cluster


LINE_EVERY_SECONDS = 30.0


class StudyProgress:
    """Counts runs and estimates the time left from those computed in this session.

    >>> with StudyProgress(Console(quiet=True), {"ap": 4}) as progress:
    ...     progress.advance("ap", 1)
    ...     progress.time_left() is None
    True
    """

    def __init__(self, console: Console, runs: dict[str, int], /) -> None:
        self._console, self._total = console, sum(runs.values())
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._tasks = {
            name: self._bar.add_task(name, total=count, left="", visible=console.is_terminal)
            for name, count in runs.items()
        }
        self._done = self._computed = 0
        self._started = self._last_line = time.monotonic()

    def __enter__(self) -> StudyProgress:
        """Start drawing."""
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the finished bars standing."""
        if self._console.is_terminal:
            self._bar.stop()

    def advance(self, study: str, runs: int, /) -> None:
        """So many more runs of a study are there; a batch at once was found, not computed."""
        self._done += runs
        if runs == 1:
            self._computed += 1
        left = self.time_left()
        told = "" if left is None else f"{show_duration(left)} left"
        self._bar.update(self._tasks[study], advance=runs, left=told)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last_line >= LINE_EVERY_SECONDS:
            self._last_line = now
            self._console.print(f"{study}: {self._done} of {self._total} runs, {told}")

    def time_left(self) -> float | None:
        """Seconds, once enough runs were computed to tell."""
        if self._computed < 10:
            return None
        each = (time.monotonic() - self._started) / self._computed
        return each * (self._total - self._done)
