"""What a node computes of a sealed search is on its disk before the platform hears of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.node import searching
from tacit.node.agreement_state import AgreementState
from tacit.node.inputs import Inputs
from tacit.records.events import Sent
from tacit.records.ledger import DisclosedProof, DisclosureKind
from tacit.records.messages import Advance
from tacit.records.requests import Attempt
from tests.node.test_agreement_state import SETTINGS, held, kept
from tests.on_nodes.agreed_cluster import run


class ByItself:
    """A computation at one node whose result is given, and that nobody else takes part in."""

    def __init__(self, state: AgreementState, finished: bool) -> None:
        self.attempt = Attempt("2:2:1")
        self._state, self._finished = state, finished
        self.at_reply: list[bool] = []
        """Whether all lines were synced when the reply was made."""

    @asynccontextmanager
    async def begins(self) -> AsyncIterator[None]:
        """Allow it."""
        yield

    @asynccontextmanager
    async def session(self, **_: object) -> AsyncIterator[Any]:
        """Be alone in it."""
        yield SimpleNamespace()

    fitting = None

    async def compute(self, *_: object, **__: object) -> searching.Reached:
        return searching.Reached(kept(2), self._finished)

    def log_sent(self, kind: DisclosureKind, about: int, *, known: DisclosedProof) -> None:
        self._state.store.log_sent(kind, about, self.attempt, b"", bytes.hex, known=known)

    def reply(self, *_: object, **__: object) -> None:
        self.at_reply.append(self._state.store.log.is_synced)


@pytest.mark.parametrize("finished", [True, False])
def test_that_all_is_proved_is_synced_before_the_platform_hears_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: bool
) -> None:
    state = held(tmp_path, replace(SETTINGS, checkpoints="2:3"))
    monkeypatch.setattr(Inputs, "check_frozen", lambda *_: None)
    monkeypatch.setattr(Inputs, "search_seed", lambda *_: 1)
    request = Advance(
        agreement=state.hash,
        epoch=2,
        attempt=1,
        search=0,
        first=0,
        count=2,
        horizon=12,
        parent_attempt=Attempt("0:1:1"),
    )
    alone: Any = ByItself(state, finished)

    async def work() -> None:
        progress = state.searches[0]
        await progress.keep(kept(0))
        node: Any = SimpleNamespace(epochs={})
        await searching._advance(node, state, request, progress, alone)

    run(work())
    assert alone.at_reply == [True]
    lines = [each.known for each in state.store.log.recent() if isinstance(each, Sent)]
    assert lines == [DisclosedProof(finished)]
