"""A coordinator that resumes a sealed search learns from logs, of which one may be made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.coordinator import coordinator as coordinators
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import LogError
from tacit.records.ballots import MOST_BALLOTS, Phase, SubjectKind
from tacit.records.events import BatchBegun, LogEvent, PlanDecided, Sent, Voted
from tacit.records.ledger import DisclosedProof, DisclosureKind
from tacit.records.node_log import NodeLog
from tacit.records.requests import Attempt
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.owners_cast import owners_cast

EARLY, LATE = Attempt("5:1:1"), Attempt("6:1:2")
BEGUN = BatchBegun(0, 5, 1, 12, "ab", LATE, EARLY)
MADE_UP: list[LogEvent] = [
    BatchBegun(0, 5, 1, 99, "cd", LATE, EARLY),
    Sent(DisclosureKind.PROVED, 0, LATE, "", "", "", DisclosedProof(True)),
    Voted(SubjectKind.PLAN, 0, MOST_BALLOTS, Phase.WILLING, "9:9:9", -1, "", []),
    PlanDecided(0, [0], Attempt("9:9:9"), []),
]


def resumed(folder: Path, logs: Sequence[list[LogEvent] | None]) -> SealedSearch:
    """A search that was begun, at nodes with such logs, None for one that is no log."""
    pages: dict[int, bytes] = {}
    for node, events in enumerate(logs):
        log = NodeLog(folder / f"{node}.jsonl")
        for event in events or []:
            log.append(event)
        pages[node] = b"nothing\n" if events is None else log.page(0)[0]

    def client(node: int) -> Any:
        return SimpleNamespace(number=node, name=f"node {node}", page=pages[node])

    agreement = owners_cast(4).agreement
    coordinator = Coordinator(agreement, [client(node) for node in range(len(logs))])
    coordinator.states = {0: [EARLY, LATE]}
    search = SealedSearch(coordinator, 0)
    assert search._state_before() == LATE
    return search


@pytest.fixture(autouse=True)
def pages_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients of this file have their page themselves."""

    async def fetched(client: Any, *_: object) -> Any:
        return SimpleNamespace(log=client.page)

    monkeypatch.setattr(coordinators, "fetched_log", fetched)


@pytest.mark.parametrize("liar", range(4))
def test_one_log_that_is_made_up_steers_no_resumed_run(tmp_path: Path, liar: int) -> None:
    honest: list[list[LogEvent] | None] = [[BEGUN], [BEGUN], [BEGUN]]
    search = resumed(tmp_path, [*honest[:liar], MADE_UP, *honest[liar:]])

    async def work() -> None:
        await search._recall()
        assert (search._last, search.finished) == (LATE, False)
        assert search._batches[5].horizon == 12

    run(work())


@pytest.mark.parametrize(
    "made_up",
    [
        BatchBegun(0, 6, 1 << 20, 12, "cd", LATE, LATE),
        BatchBegun(0, 6, 500, 12, "cd", LATE, LATE),
        BatchBegun(0, 6, 0, 12, "cd", LATE, LATE),
        BatchBegun(0, 6, 1, 1 << 70, "cd", LATE, LATE),
    ],
)
def test_a_batch_that_one_log_makes_up_is_not_asked_for(
    tmp_path: Path, made_up: BatchBegun
) -> None:
    """All nodes would refuse it, and the run would end."""
    search = resumed(tmp_path, [[BEGUN, made_up], [BEGUN], [BEGUN], [BEGUN]])

    async def work() -> None:
        await search._recall()
        assert [*search._batches] == [5]

    run(work())


def test_one_log_that_is_none_ends_no_resumed_run(tmp_path: Path) -> None:
    search = resumed(tmp_path, [[BEGUN], None, [BEGUN], [BEGUN]])

    async def work() -> None:
        await search._recall()
        assert search._batches[5].horizon == 12

    run(work())


def test_two_logs_that_are_none_do(tmp_path: Path) -> None:
    search = resumed(tmp_path, [[BEGUN], None, None, [BEGUN]])

    async def work() -> None:
        with pytest.raises(LogError):
            await search._recall()

    run(work())


def test_what_honest_nodes_have_voted_on_is_asked_for_first(tmp_path: Path) -> None:
    vote = Voted(SubjectKind.PLAN, 0, 0, Phase.WILLING, EARLY, -1, "", [])
    search = resumed(tmp_path, [[BEGUN, vote], [BEGUN], [BEGUN], MADE_UP])

    async def work() -> None:
        await search._recall()
        assert (search._last, search.opened) == (EARLY, True)

    run(work())
