"""A run from its draft to its end, with an operator and participants who go on after a fault."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit import participant
from tacit.client import RunResult
from tacit.client.models import ENDS, RunView
from tacit.errors import (
    InternalError,
    NotThereError,
    OverloadedError,
    PlatformError,
    UnreachableError,
    WrongStateError,
)
from tests.deployment.parties import slots
from tests.faults.arena import ASK_EVERY_SECONDS, NAMES, Arena

T = TypeVar("T")

# Loaded before there are threads, which would load them at once.
LOADED = (
    participant.check_logs,
    participant.result,
    participant.review,
    participant.sign,
    participant.submissions,
    participant.submit,
)
ROWS = 12
KINDS = ("top:15", "sealed", "owners")
SEALED_SECONDS = 2.0
"""How long a sealed search of so many rows takes, or less."""
ALLOWED_SECONDS = 240.0
"""A run that has not ended so long after its start and after the fault is lost."""
LATER = (UnreachableError, OverloadedError)
"""What may work a moment later."""
NOT_YET = (*LATER, NotThereError, WrongStateError)


def terms(kind: str, *, deadline: float, on_loss: str) -> dict[str, Any]:
    """What the operator drafts."""
    changes: dict[str, Any] = {
        "participants": {name: list(range(ROWS))[k::3] for k, name in enumerate(NAMES)},
        "on_loss": on_loss,
    }
    if kind == "top:15":
        changes["objective"] = {"disclosure": "top:15", "best": "value"}
        changes["parameters"] = {"population": 100, "elites": 15}
    elif kind == "sealed":
        changes["objective"] = {"disclosure": "sealed", "best": "value"}
    elif kind == "owners":
        changes["plan"] = "owners"
    return slots(ROWS, deadline, **changes)


class Run(threading.Thread):
    """One run; `over` is set when there is nothing more to wait for."""

    def __init__(
        self, arena: Arena, kind: str, *, seed: int, deadline: float, calm: threading.Event
    ):
        """`calm` is set as soon as the fault is healed: nobody resumes a run before."""
        super().__init__(daemon=True)
        chance = random.Random(seed)
        self._arena, self._calm = arena, calm
        self.kind, self.deadline, self.seed = kind, deadline, seed
        self.pauses = [chance.uniform(0.0, 0.2) for _ in NAMES]
        self.id = ""
        self.state, self.reason = "draft", ""
        self.agreed, self.running, self.stopped, self.over = (threading.Event() for _ in range(4))
        """`stopped` is set by the first end, which may be one that it is resumed from."""
        self.reasons: list[str] = []
        """Why it was interrupted, each time."""
        self.refused: list[str] = []
        """Why nodes refused rows, which were sealed again."""
        self.troubles: list[str] = []
        self.ended_at = 0.0
        """In seconds since 1970, as it was seen here."""
        self.result: RunResult | None = None

    @property
    def lasts(self) -> float:
        """For how many seconds a fault can come in its middle: sealed, it ends by itself."""
        return 0.9 * self.deadline if self.kind == "top:15" else SEALED_SECONDS

    def costs(self) -> NDArray[np.int64]:
        """The costs of all rows, which no two runs share."""
        return np.random.default_rng(self.seed).integers(0, 1000, (ROWS, ROWS))

    def run(self) -> None:
        try:
            self._live()
        except Exception as error:
            self.troubles.append(f"it was given up: {type(error).__name__}: {error}")
        finally:
            for event in (self.agreed, self.running, self.stopped, self.over):
                event.set()

    def _live(self) -> None:
        drafted = terms(self.kind, deadline=self.deadline, on_loss=self._arena.on_loss)
        with self._arena.client() as client:
            self._client = client
            # A draft whose answer was lost stays a draft, and another one takes its place.
            self.id = self._patiently(lambda: client.runs.new(drafted).id)
            self._until(lambda: client.runs.invite(self.id), lambda seen: seen.state != "draft")
            for name, pause in zip(NAMES, self.pauses, strict=True):
                self._sign(name)
                time.sleep(pause)
            self.agreed.set()
            for name in NAMES:
                self._submit(name)
            self._wait()
            self.result = self._patiently(lambda: client.runs.result(self.id))

    def show(self) -> RunView:
        return self._patiently(lambda: self._client.runs.show(self.id))

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask until the platform answers."""
        until = time.monotonic() + ALLOWED_SECONDS
        while True:
            try:
                return ask()
            except LATER:
                if time.monotonic() > until:
                    raise
            except InternalError as error:
                self.troubles.append(f"the platform failed: {error}")
                if len(self.troubles) > 5:
                    raise
            time.sleep(ASK_EVERY_SECONDS)

    def _until(self, act: Callable[[], object], done: Callable[[RunView], bool]) -> None:
        """Do something until it is done, though the answer that says so may be lost."""
        until = time.monotonic() + ALLOWED_SECONDS
        while not done(self.show()):
            try:
                act()
            except NOT_YET:
                if time.monotonic() > until:
                    raise
                time.sleep(ASK_EVERY_SECONDS)

    def _sign(self, name: str) -> None:
        profile = self._arena.people[name]

        def sign() -> None:
            participant.sign(profile, self.id, seen=participant.review(profile, self.id))

        def done(seen: RunView) -> bool:
            signed = {each.name for each in seen.members if each.signed}
            return name in signed or seen.state in ENDS

        self._until(sign, done)

    def _submit(self, name: str) -> None:
        profile = self._arena.people[name]
        rows = list(range(ROWS))[NAMES.index(name) :: 3]

        def submit() -> None:
            participant.submit(profile, self.id, self.costs()[rows], again=True)

        def done(seen: RunView) -> bool:
            state = {each.name: each.submission_state for each in seen.members}[name]
            return state in ("waiting", "accepted") or seen.state in ENDS

        self._until(submit, done)

    def _wait(self) -> None:
        """Wait for the end; resume what was interrupted, seal again what the nodes refused."""
        begun = time.monotonic()
        while True:
            seen = self.show()
            self.state, self.reason = seen.state, seen.reason or ""
            if seen.state == "running":
                self.running.set()
            elif seen.state == "interrupted":
                self.reasons.append(self.reason)
                self.stopped.set()
                self._calm.wait(ALLOWED_SECONDS)
                self._until(
                    lambda: self._client.runs.resume(self.id),
                    lambda seen: seen.state != "interrupted",
                )
            elif seen.state in ENDS:
                self.ended_at = time.time()
                return
            for each in seen.members:
                if each.submission_state == "refused":
                    self._seal_again(each.name)
            if not self._calm.is_set():
                begun = time.monotonic()
            if time.monotonic() - begun > ALLOWED_SECONDS:
                raise RuntimeError(f"it is still {seen.state}; {seen.warnings}")
            time.sleep(ASK_EVERY_SECONDS)

    def _seal_again(self, name: str) -> None:
        try:
            found = participant.submissions(self._arena.people[name], self.id)
            self.refused += [f"{name}: {each.reason}" for each in found if each.state == "refused"]
            self._submit(name)
        except PlatformError as error:
            if not isinstance(error, NOT_YET):
                raise
