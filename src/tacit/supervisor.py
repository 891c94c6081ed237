"""Supervise background tasks: a round that fails is reported, counted and tried again.

An error in a bare asyncio task ends it, and nobody notices until what it did is missed. So all
tasks of a node or a platform that go on for long are started here, periodic ones with `every`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from tacit.errors import TacitError

FIRST_PAUSE = 1.0
"""Seconds before the next round of a task that failed; doubled after each further failure."""
LONGEST_PAUSE = 5.0
"""The longest such pause of a task whose rounds follow each other sooner than that."""
CANCEL_AGAIN_SECONDS = 15.0
"""After so long a task that was cancelled and goes on is cancelled again: longer than a worker may
take to leave."""

Report = Callable[[str, BaseException], None]
"""Receives the name of a task, and what ended one of its rounds."""
Work = Callable[[], Awaitable[object] | None]


@dataclass
class TaskHealth:
    """How all tasks of one name are doing."""

    failures: int = 0
    """Rounds that failed since the start."""
    failing: int = 0
    """Tasks whose last round failed."""


class Supervisor:
    """The background tasks of one process."""

    def __init__(self, report: Report, /) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()
        self.health: dict[str, TaskHealth] = {}
        """By the name of the task."""

    def every(
        self, seconds: float, name: str, work: Work, /, *, early: asyncio.Event | None = None
    ) -> asyncio.Task[None]:
        """Call `work` at once, and again so long after each end, or as soon as `early` is set.

        A round that fails is tried again after a second, then after two, and so on.
        """
        return self._start(name, self._rounds(seconds, name, work, early))

    def until_done(self, name: str, work: Work, /) -> asyncio.Task[None]:
        """Call `work` until it returns; after an error it is called again."""
        return self._start(name, self._until_done(name, work))

    def once(self, name: str, work: Coroutine[Any, Any, None], /) -> asyncio.Task[None]:
        """Run a coroutine; an error ends it, and is reported and counted."""
        task = self._start(name, work)

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                self._failed(name, error)

        task.add_done_callback(ended)
        return task

    async def close(self) -> None:
        """Cancel all tasks, and wait for their ends."""
        # Again and again: one that ends may start another, and a cancellation that comes together
        # with what a task waits for may be lost, as in `asyncio.wait_for` of Python 3.11.
        while tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            done, _ = await asyncio.wait(tasks, timeout=CANCEL_AGAIN_SECONDS)
            await asyncio.gather(*done, return_exceptions=True)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.health.setdefault(name, TaskHealth())
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _failed(self, name: str, error: BaseException) -> None:
        self.health[name].failures += 1
        self._report(name, error)

    async def _rounds(
        self, seconds: float, name: str, work: Work, early: asyncio.Event | None
    ) -> None:
        longest = max(seconds, LONGEST_PAUSE)
        while True:
            if early is not None:
                early.clear()  # before the work: what comes meanwhile sets it again
            await self._until_done(name, work, longest=longest)
            await _pause(seconds, early)

    async def _until_done(self, name: str, work: Work, *, longest: float = LONGEST_PAUSE) -> None:
        health, pause = self.health[name], FIRST_PAUSE
        failing = False
        try:
            while not await self._round(name, work):
                health.failing += not failing
                failing = True
                await asyncio.sleep(min(pause, longest))
                pause *= 2
        finally:
            health.failing -= failing

    async def _round(self, name: str, work: Work) -> bool:
        """Return whether `work` ended without an error."""
        try:
            result = work()
            if isawaitable(result):
                await result
        except Exception as error:
            self._failed(name, error)
            return False
        except asyncio.CancelledError as error:
            # Unless this task is cancelled, it was something that the work waited for.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self._failed(name, error)
            return False
        return True


async def _pause(seconds: float, early: asyncio.Event | None) -> None:
    if early is None:
        await asyncio.sleep(seconds)
        return
    try:
        async with asyncio.timeout(seconds):
            await early.wait()
    except TimeoutError:
        return


def log_failures(log: logging.Logger, /) -> Report:
    """Return a report to a log: in a line for what may pass, with a trace for a mistake."""

    def report(name: str, error: BaseException) -> None:
        what = str(error) or type(error).__name__
        if isinstance(error, TacitError | OSError):  # a timeout is an OSError
            log.warning("a task failed", extra={"fields": {"task": name, "what": what}})
        else:
            log.error("a task failed", exc_info=error, extra={"fields": {"task": name}})

    return report


def try_all(what: str, steps: Iterable[Callable[[], object]], /) -> None:
    """Call all steps, whichever fail; their errors are raised together in the end.

    >>> done: list[int] = []
    >>> try:
    ...     try_all("an example", [lambda: done.append(1), lambda: 1 // 0, lambda: done.append(3)])
    ... except ExceptionGroup as group:
    ...     print(done, group.exceptions)
    [1, 3] (ZeroDivisionError('integer division or modulo by zero'),)
    """
    errors: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup(what, errors)
