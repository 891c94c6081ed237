"""PostgreSQL behind the platform, nodes behind both, and a database that goes and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tacit.local.cluster import free_addresses
from tests.deployment.deployment import Deployment
from tests.deployment.figures import Figures
from tests.deployment.parties import Operator, slots
from tests.service.postgres import PostgresServer, new_database, postgres_server

DEADLINE = 15.0
AWAY_SECONDS = 3.0
LATE = 1.0
GENETIC = {
    "objective": {"disclosure": "top:15"},
    "parameters": {"population": 100, "elites": 15},
}


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[tuple[PostgresServer, Deployment]]:
    *addresses, platform = free_addresses(4)
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server())
        url = new_database(server.url)
        deployment = Deployment(tmp_path, addresses, platform, database=url)
        yield server, stack.enter_context(deployment)


def away(server: PostgresServer, how: str, operator: Operator) -> None:
    """Stop it for a while; whoever asks meanwhile is told so and not that something is broken."""
    server.stop(how)
    answer = operator.http.get("/runs", headers={"Authorization": f"Bearer {operator.token}"})
    assert answer.status_code == 503, answer.text
    assert answer.json()["error"] == "storage"
    time.sleep(AWAY_SECONDS)
    server.start()


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_database_that_restarts_in_mid_run_costs_nothing(
    stored: tuple[PostgresServer, Deployment], figures: Figures, how: str
) -> None:
    server, deployment = stored
    operator = deployment.operator
    before = deployment.start_run(slots(12, DEADLINE, **GENETIC))
    operator.until(before, lambda found: found["progress"] is not None)
    away(server, how, operator)
    at_the_restart = operator.generation(before)
    ended = operator.wait(before, "finished")
    outcome = operator.call("GET", f"/runs/{before}/result")
    figures.add(
        stopped=how,
        away_seconds=AWAY_SECONDS,
        generations_at_the_restart=at_the_restart,
        generations=ended["progress"]["generation"],
        late_by_seconds=outcome["late_by_seconds"],
        reason=ended["reason"],
    )
    assert ended["progress"]["generation"] > at_the_restart
    assert outcome["late_by_seconds"] < LATE
    assert [each["submission_state"] for each in ended["members"]] == ["accepted"] * 3
    deployment.check_by_participants(before)
    # Over the deadline itself: the answer waits for the database, and is not lost.
    second = deployment.start_run(slots(12, 6.0, **GENETIC))
    operator.until(second, lambda found: found["progress"] is not None)
    due = operator.run(second)["deadline_at"]
    time.sleep(max(0.0, due - time.time() - AWAY_SECONDS / 2))
    away(server, how, operator)
    operator.wait(second, "finished")
    deployment.check_by_participants(second)
    deployment.platform.check()
    said = deployment.platform.log.read_text()
    assert "internal error" not in said
