"""What the alert rules and the dashboard in deploy/monitoring query is what there is."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from studies.benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.identity.config import load_node_config
from tacit.local.cluster import free_addresses
from tacit.node.server import Node
from tacit.service.server.serve import _work
from tacit.service.storage import Database
from tests.service.execution.punctual import finished
from tests.service.execution.test_live import submitted
from tests.support.repository import ROOT

pytestmark = pytest.mark.processes
FOLDER = ROOT / "deploy" / "monitoring"
GIVEN = {"job", "instance", "le"}
"""Labels that Prometheus adds, or that are of every histogram."""


def expressions() -> Iterator[str]:
    board: dict[str, Any] = json.loads((FOLDER / "grafana.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
            yield from re.findall(r"\{\{.*?\}\}", target["legendFormat"])
    # From one rule's `expr` to its next key, over several lines.
    rules = (FOLDER / "alerts.yaml").read_text()
    yield from re.findall(r"expr: (.+?)\n +(?:for|labels):", rules, re.S)


def exposed(text: str) -> tuple[set[str], set[str]]:
    """The names of metrics and the labels of a page of metrics."""
    names, labels = set(), set()
    for family in text_string_to_metric_families(text):
        ends = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}
        names |= {family.name + end for end in ends.get(family.type, [""])}
        labels |= {label for sample in family.samples for label in sample.labels}
    return names, labels


def test_a_worker_of_its_own_has_its_figures_where_service_toml_says(live: LivePlatform) -> None:
    """Its runs are in no API's figures."""
    (address,) = free_addresses(1)
    settings = replace(live.settings, worker_metrics=address, data="worker")

    async def fetched() -> str:
        database = Database(f"sqlite:///{live.folder / 'worker.db'}")
        worker = asyncio.create_task(_work(settings, database))

        def page() -> str:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
                return str(answer.read().decode())

        try:
            async with asyncio.timeout(60):
                while not worker.done():
                    with suppress(OSError):
                        return await asyncio.to_thread(page)
                    await asyncio.sleep(0.05)
            raise AssertionError("it ended")
        finally:
            worker.cancel()
            await asyncio.wait([worker])
            database.close()

    names, _ = exposed(asyncio.run(fetched()))
    assert {"tacit_runs_ended_total", "tacit_tasks_failing", "process_cpu_seconds_total"} <= names


def test_every_metric_and_label_that_is_queried_exists(live: LivePlatform) -> None:
    finished(live, submitted(live, deadline=1.0))
    with live.client(OPERATOR) as client:
        names, labels = exposed(client.metrics())
    config = load_node_config(live.clusters[0].folder / "node-0.toml")
    metrics = free_addresses(1)[0]
    node = Node(replace(config, metrics=metrics, data=str(live.folder / "node-with-metrics")))
    assert node.metrics is not None
    stop = node.metrics.serve(metrics)
    try:
        node.metrics.answered("evaluate", "answered", 0.1)
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=60) as answer:
            of_node = exposed(answer.read().decode())
    finally:
        stop()
    names, labels = names | of_node[0], labels | of_node[1] | GIVEN
    queried, used = set[str](), set[str]()
    for each in expressions():
        queried |= set(re.findall(r"\b(?:tacit|process)_[a-z_]+", each))
        for inside in re.findall(r"\{\{(\w+)\}\}|(\w+)(?:!?=~?)\"|by \(([\w, ]+)\)", each):
            used |= {word.strip() for part in inside for word in part.split(",") if part}
    assert len(queried) > 25
    assert queried - names == set()
    assert used - labels - {"state", "task"} == set()
