"""Where runs are computed: processes on this machine, or a Dask cluster.

Both are a `concurrent.futures.Executor`, so that nothing else knows the difference.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait

from tacit.errors import ParameterError, TacitError


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
