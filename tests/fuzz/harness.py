"""Runs a target on many examples, and notices crashes, hangs and memory.

Only errors of `tacit.errors` are documented; whatever else comes out of a target is a finding. So
is an example that computes for longer than a second, or takes more memory than the bound.
"""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.strategies import SearchStrategy

from tacit.errors import TacitError

MOST_SECONDS = 1.0
"""Of computing, so that a busy machine makes no findings."""
MOST_MEGABYTES = 256
"""Above what the process had when the target was set up."""
BATCH = 2000
"""Examples that are drawn from one seed. Hypothesis remembers all of them, so they are few."""


class FindingError(Exception):
    """A target did something that is not documented."""


class _TooLongError(BaseException):
    """Raised in the middle of an example; nothing that catches errors may catch it."""


@dataclass(frozen=True)
class Trial:
    """A target that is set up: what to draw, and what to do with it."""

    examples: SearchStrategy[Any]
    run: Callable[[Any], int]
    """Gives how many things were tried. Documented errors may leave it."""


@dataclass(frozen=True)
class Target:
    """Something that takes input from others."""

    name: str
    count: int
    """How many things a whole run tries."""
    open: Callable[[], AbstractContextManager[Trial]]
    most_seconds: float = MOST_SECONDS
    per_example: int = 1
    """How many things an example has, about."""
    batch: int = BATCH
    """Examples until it is set up anew."""


@dataclass
class Outcome:
    """What came of a target."""

    target: str
    tried: int = 0
    examples: int = 0
    refused: int = 0
    """Examples that ended with a documented error."""
    slowest: float = 0.0
    """Seconds of computing that the slowest example took."""
    grown_megabytes: float = 0.0
    """Memory that the process has more than when the target was set up."""
    seed: int | None = None
    """The one that a finding is repeated with."""
    finding: str = ""


def fuzz(
    target: Target,
    *,
    count: int,
    seed: int,
    progress: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Try at least `count` things; a finding ends it, with the seed that repeats it."""
    outcome = Outcome(target.name)
    while outcome.tried < count and not outcome.finding:
        with target.open() as trial, _memory_bound() as grown:
            _batch(target, trial, outcome, count=count, seed=seed)
            outcome.grown_megabytes = max(outcome.grown_megabytes, grown())
        progress(outcome)
        seed += 1
    return outcome


def _batch(target: Target, trial: Trial, outcome: Outcome, *, count: int, seed: int) -> None:
    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=max(1, min(target.batch, (count - outcome.tried) // target.per_example)),
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate,),  # a smaller example is not worth its minutes
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(trial.examples)
    def one(example: Any) -> None:
        begun = time.process_time()
        with _time_bound(target.most_seconds):
            try:
                outcome.tried += trial.run(example)
            except TacitError:
                outcome.refused += 1
                outcome.tried += 1
        outcome.examples += 1
        outcome.slowest = max(outcome.slowest, time.process_time() - begun)

    try:
        one()
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        outcome.finding = f"{type(error).__name__}: {error}\n{notes}"[:4000]
        outcome.seed = seed


@contextmanager
def _time_bound(seconds: float) -> Iterator[None]:
    """A finding where the block computes for longer, even if it never ended by itself."""
    until = time.process_time() + seconds

    def expired(_number: int, _frame: FrameType | None) -> None:
        # The timer counts ticks of the scheduler, and a tick may have been another process's.
        left = until - time.process_time()
        if left > 0:
            signal.setitimer(signal.ITIMER_PROF, left)
            return
        raise _TooLongError

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _TooLongError:
        raise FindingError(f"computed for more than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _memory_bound() -> Iterator[Callable[[], float]]:
    """Whatever needs more than the bound gets a `MemoryError`; gives how much more there is."""
    begun = _data_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (begun + (MOST_MEGABYTES << 20), hard))
    try:
        yield lambda: max(0.0, (_data_bytes() - begun) / 1e6)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) << 10
    raise FindingError("this system does not say how much memory a process has")
