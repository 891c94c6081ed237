"""Nodes, platform and participants on hosts of their own, with delays and faults between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.deployment import Deployment
from tests.deployment.figures import Figures
from tests.deployment.hosts import Hosts, why_not
from tests.deployment.parties import slots
from tests.deployment.relay import Quality

REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

PEOPLE = "people"
PARTED_SECONDS = 4.0
DEADLINE = 30.0
GRACE = 1.0
"""Seconds without a sign of life after which a node is lost: short, as these runs are."""
LATE = 1.0
"""Seconds after the deadline, on a machine that does all of it."""
GENETIC: dict[str, Any] = {
    "objective": {"disclosure": "top:15"},
    "parameters": {"population": 100, "elites": 15},
}
SEALED: dict[str, Any] = {}
CASES = ((10, GENETIC), (10, SEALED), (50, GENETIC), (50, SEALED))


def quality(milliseconds: float) -> Quality:
    """Between data centres: a fifth of the delay as jitter, 20 Mbit/s, now and then a reset."""
    delay = milliseconds / 1000
    return Quality(delay, delay / 5, bandwidth=2.5e6, breaks_per_minute=4.0)


@pytest.fixture(params=[3, 4])
def across(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Hosts, Deployment]]:
    nodes = [f"node-{i}" for i in range(request.param)]
    ports = {**dict.fromkeys(nodes, 9000), "platform": 8443}
    with ExitStack() as stack:
        hosts = stack.enter_context(Hosts([*nodes, "platform", PEOPLE], ports=ports))
        stack.enter_context(hosts.inside(PEOPLE))
        deployment = Deployment(
            tmp_path,
            [hosts.address(node) for node in nodes],
            hosts.address("platform"),
            listen=[*["0.0.0.0:9000"] * len(nodes), "0.0.0.0:8443"],
            place=lambda host: partial(hosts.inside, host),
        )
        yield hosts, stack.enter_context(deployment)


def test_runs_go_on_through_delays_resets_and_a_partition(
    across: tuple[Hosts, Deployment], figures: Figures
) -> None:
    hosts, deployment = across
    operator, four = deployment.operator, len(deployment.nodes) == 4
    for milliseconds, kind in CASES:
        hosts.relay.quality = quality(milliseconds)
        lost = {"on_loss": "three" if four else "wait", "grace_seconds": GRACE}
        terms = slots(12, DEADLINE, **lost, **kind)
        run = deployment.start_run(terms)
        operator.until(run, lambda found: found["progress"] is not None)
        time.sleep(3.0)
        # Whoever is apart from all others is on its own; its process and its links live on.
        others = [f"node-{i}" for i in range(len(deployment.nodes)) if i != 1]
        before = operator.generation(run)
        hosts.relay.part("node-1", [*others, "platform"])
        time.sleep(PARTED_SECONDS)
        at_the_end = operator.generation(run)
        hosts.relay.mend()
        ended = operator.wait(run, "finished", seconds=DEADLINE + 30)
        outcome = operator.call("GET", f"/runs/{run}/result")
        figures.add(
            nodes=len(deployment.nodes),
            delay_ms=milliseconds,
            kind="sealed" if kind is SEALED else "top:15",
            generations_before=before,
            generations_while_parted=at_the_end - before,
            generations_after=ended["progress"]["generation"] - at_the_end,
            late_by_seconds=outcome["late_by_seconds"],
            reason=ended["reason"],
            warnings=ended["warnings"],
            connections=hosts.relay.opened,
            reset=hosts.relay.broken,
            megabytes=round(hosts.relay.carried / 1e6, 1),
        )
        assert ended["progress"]["generation"] > at_the_end, "it did not go on"
        assert outcome["late_by_seconds"] < LATE
        hosts.relay.quality = quality(10)
        deployment.check_by_participants(run)
    for server in deployment.servers:
        server.check()
