"""A node that takes long where a test says, in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from tacit.local.cluster import LocalCluster
from tacit.node import process
from tacit.node.computation import NodeComputation
from tacit.node.derivation import Derivation
from tests.support.nursery import nursery

DELAY_SECONDS = 1.0
"""Longer than a platform takes to leave after the last answer."""


PLACES: dict[str, tuple[Any, str]] = {
    "its answer is out": (NodeComputation, "run"),
    "it has derived the next population": (Derivation, "_take"),
}
"""After what the node takes long."""


def restart_slow(cluster: LocalCluster, node: int, place: str) -> None:
    """Start a node again, slow as on a machine that is busy with something else."""
    cluster.kill(node)
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        cluster.processes[node] = nursery().start(
            "tests.service.execution.slow_node", [place, str(path)], errors
        )


if __name__ == "__main__":
    owner, name = PLACES[sys.argv[1]]
    quick = getattr(owner, name)

    async def slow(*given: Any, **named: Any) -> Any:
        done = await quick(*given, **named)
        await asyncio.sleep(DELAY_SECONDS)
        return done

    setattr(owner, name, slow)
    sys.exit(process.main(sys.argv[2:]))
