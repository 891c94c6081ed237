"""Handing a run over to nodes, where what they took could not be stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacit.agreement import SealedRows
from tacit.errors import FencedError, StorageError
from tacit.service.execution import executor as executor_module
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.executor import Executor, _Held
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.provisioner import Provisioner, set_at_nodes
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, RunClaim, set_submission_state

CLAIM = RunClaim("r-1", "main", "hand over", 7)


class Nodes:
    """Nodes that take everything, as links and as coordinator."""

    def __init__(self) -> None:
        self.agreed = 0
        self.taken: list[str] = []

    def coordinator(self, _stored: object, *, fence: int) -> Nodes:
        assert fence == CLAIM.fence
        return self

    async def look(self) -> None:
        """All are there."""

    def clock_warnings(self) -> dict[str, str]:
        return {}

    async def start_agreement(self, *_: object, **__: object) -> None:
        self.agreed += 1

    def submission(self, rows: SealedRows, _client: object) -> SealedRows:
        return rows

    async def ask_all(self, make: Callable[[object], Any], *, within: float) -> None:
        assert within
        self.taken.append(make(None).manifest.decode())


class StoredRun:
    """A run with rows of two participants, one of which is still missing at the end."""

    claim, id, cluster = CLAIM, CLAIM.run_id, CLAIM.cluster

    def __init__(self, errors: list[tuple[object, Exception]]) -> None:
        self.errors = errors
        self.at_nodes = False
        self.states = {"north": "waiting", "south": "waiting"}

    async def read(self, *_: object) -> Any:
        rows = [
            SimpleNamespace(
                participant=name,
                objective=0,
                state=state,
                key=(name, 0, b""),
                rows=SealedRows((), name.encode(), b""),
            )
            for name, state in self.states.items()
        ]
        return SimpleNamespace(rows=rows, is_complete=False, signatures={}, series=None)

    async def write(self, query: object, _run: str, *arguments: str, **_: object) -> None:
        for i, (failing, error) in enumerate(self.errors):
            if query is failing:
                del self.errors[i]
                raise error
        if query is set_at_nodes:
            self.at_nodes = True
        elif query is set_submission_state:
            participant, state = arguments
            self.states[participant] = state


@pytest.mark.parametrize("failing", [set_at_nodes, set_submission_state])
def test_what_could_not_be_stored_is_handed_over_and_stored_again(failing: object) -> None:
    run, nodes = StoredRun([(failing, StorageError("the disk is full"))]), Nodes()
    provisioner = Provisioner(run.id, cast(ClusterLinks, nodes))

    def hand_over() -> bool:
        return asyncio.run(provisioner.hand_over(cast(HeldRun, run)))

    assert not hand_over()
    assert hand_over()
    assert run.at_nodes
    assert run.states == {"north": "accepted", "south": "accepted"}
    # And what is stored is not given to the nodes once more.
    taken = list(nodes.taken)
    assert hand_over()
    assert nodes.taken == taken


@pytest.mark.parametrize("error", [FencedError("it is another's"), asyncio.CancelledError()])
def test_what_a_hand_over_knew_that_did_not_end_normally_is_forgotten(
    settings: Settings, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    class Stopped:
        """Ends as said the first time, and then as one that waits for more rows."""

        is_over = False

        def __init__(self, *_: object) -> None:
            made.append(self)
            self.is_first = len(made) == 1

        async def hand_over(self, _: object) -> bool:
            if self.is_first:
                raise error
            return True

    monkeypatch.setattr(executor_module, "Provisioner", Stopped)

    async def work() -> None:
        database = Database(settings.database_url)
        executor = Executor(settings, database)
        executor._links = {"main": cast(ClusterLinks, Nodes())}
        held = _Held(HeldRun(database, CLAIM))
        with pytest.raises(type(error)):
            await executor._once(held)
        for _ in range(2):
            assert await executor._once(held)
        database.close()

    asyncio.run(work())
    assert len(made) == 2
