"""A node with other constants, or with a clock that a test sets: a module to run as a process.

`python -m tests.on_nodes.changed_node CHANGES node-0.toml`, where `CHANGES` is JSON: a value for
each constant, by its module and name. If there is a file `clock-ahead` beside `node-0.toml`, the
node's clock is so many seconds ahead.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import NodeProcess
from tacit.node import process
from tests.support.nursery import nursery

CLOCK = "clock-ahead"


def _start(
    cluster: LocalCluster, node: int, changes: Mapping[str, float], *options: str
) -> NodeProcess:
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        arguments = [json.dumps(dict(changes)), str(path), *options]
        return nursery().start("tests.on_nodes.changed_node", arguments, errors)


def restart_changed(cluster: LocalCluster, node: int, changes: Mapping[str, float]) -> None:
    """Start a node again with other constants; kill it after the test."""
    cluster.kill(node)
    cluster.processes[node] = _start(cluster, node, changes)


class ClockedCluster(LocalCluster):
    """Nodes whose clock a test sets."""

    def _launch(self, node: int) -> NodeProcess:
        return _start(self, node, {}, "--throw-away")

    def set_ahead(self, seconds: float) -> None:
        """Let the time of all nodes be so much later."""
        new = self.folder / f"{CLOCK}.new"
        new.write_text(str(seconds))
        new.rename(self.folder / CLOCK)


def _change(changes: Mapping[str, float], folder: Path) -> None:
    for name, value in changes.items():
        module, _, constant = name.rpartition(".")
        found = importlib.import_module(module)
        assert hasattr(found, constant), name
        setattr(found, constant, value)
    real = time.time

    def ahead() -> float:
        now = real()
        with suppress(FileNotFoundError):
            now += float((folder / CLOCK).read_text())
        return now

    time.time = ahead


if __name__ == "__main__":
    _change(json.loads(sys.argv[1]), Path(sys.argv[2]).parent)
    sys.exit(process.main(sys.argv[2:]))
