"""A node that a test kills as SIGKILL would: `python -m tests.on_nodes.dying_node`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from tacit.local.cluster import LocalCluster
from tacit.mpc.disclose import dominance
from tacit.node import process
from tacit.node.counters import BestSoFar
from tacit.node.inputs import Inputs
from tests.support.nursery import nursery

POINTS: dict[str, tuple[Any, str]] = {
    "keep best": (BestSoFar, "keep"),
    "freeze": (Inputs, "freeze"),
    "draw": (Inputs, "draw"),
    "count dominators": (dominance, "count_dominators"),
}
"""What the node is about to do when it is killed."""


def restart_dying(cluster: LocalCluster, node: int, point: str) -> None:
    """Start a node again that is killed as soon as it comes to this point."""
    cluster.kill(node)
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        cluster.processes[node] = nursery().start(
            "tests.on_nodes.dying_node", [point, str(path)], errors
        )


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    where, name = POINTS[sys.argv[1]]
    setattr(where, name, _die)
    sys.exit(process.main(sys.argv[2:]))
