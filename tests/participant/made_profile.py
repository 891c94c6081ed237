"""A participant's folder, and a platform that answers as a test says, without any network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tacit.agreement import box_hash, canonical
from tacit.client import SubmittedRows
from tacit.errors import PlatformError
from tacit.identity import Keys, save_keys
from tacit.participant import Profile
from tests.on_nodes.fixtures import Cast, example_cast

RUN = "r-abcdefghij"
OWNER = "owner"
WEIGHTS = np.array([[1, 9], [8, 3]])


@dataclass(frozen=True, repr=False)
class MadeProfile(Profile):
    """A profile whose platform is an object of the test."""

    platform: Any = None

    @contextmanager
    def connect(self) -> Iterator[Any]:  # type: ignore[override]
        yield self.platform


def made_profile(folder: Path, platform: Any, cast: Cast | None = None) -> MadeProfile:
    """The profile of the owner of a cast's rows."""
    path = folder / f"{OWNER}.key"
    signing = (cast or example_cast()).participants[OWNER]
    save_keys(Keys(OWNER, signing), path)
    return MadeProfile(folder, "https://x", OWNER, "t", 0.0, path, platform)


class Runs:
    """The platform's runs, with one agreement."""

    def __init__(self, cast: Cast) -> None:
        self.shown = canonical(cast.agreement)
        self.held: list[SubmittedRows] = []
        self.handed_in = 0
        self.before_it_counts: Any = lambda: None
        """Called when something arrives, before the platform answers."""

    def agreement(self, _run: str) -> bytes:
        return self.shown

    def submissions(self, _run: str) -> list[SubmittedRows]:
        return self.held

    def submit(self, _run: str, number: int, *, boxes: Any, **_: Any) -> SubmittedRows:
        self.before_it_counts()
        self.handed_in += 1
        self.held = [SubmittedRows(number, "waiting", None, [box_hash(box) for box in boxes])]
        return self.held[0]

    def sign(self, run: str, _signature: bytes) -> Any:
        self.before_it_counts()
        return SimpleNamespace(id=run)

    def logs(self, *_: Any, **__: Any) -> Any:
        raise PlatformError("there are no logs yet")
