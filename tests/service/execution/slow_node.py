"""A node that takes long to derive the next population, in a process of its own."""

from __future__ import annotations

import asyncio
import sys

from tacit.engine.derived import DerivedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.node import process
from tacit.engine.node.state.derivation import Derivation
from tacit.engine.wire.answer import Answer
from tests.support.nursery import nursery

DELAY_SECONDS = 1.0
"""Longer than a platform takes to leave after the last answer."""


def restart_slow(cluster: LocalCluster, node: int) -> None:
    """Start a node again, slow as on a machine that is busy with something else."""
    cluster.kill(node)
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        cluster.processes[node] = nursery().start(
            "tests.service.execution.slow_node", [str(path)], errors
        )


_take = Derivation._take


async def _take_slowly(
    self: Derivation, search: DerivedSearch, objective: int, answer: Answer
) -> None:
    await asyncio.sleep(DELAY_SECONDS)
    await _take(self, search, objective, answer)


if __name__ == "__main__":
    Derivation._take = _take_slowly  # type: ignore[method-assign]
    sys.exit(process.main(sys.argv[1:]))
