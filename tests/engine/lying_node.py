"""A node that sends something else than it computed: `python -m tests.engine.lying_node`.

It is a node as any other, but for one frame of every evaluation, of which it changes a bit of its
own piece, or of the hash by which it vouches for another's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.engine.local.cluster import LocalCluster
from tacit.engine.node import process
from tacit.mpc import session
from tacit.mpc.letters import HASH_BYTES, Letter, frames
from tacit.mpc.transport import Buffer

LIES = ("piece", "hash")
ROUND = 4
"""Lies from this exchange of an evaluation on, in the middle of the comparison."""


def restart_lying(cluster: LocalCluster, node: int, about: str, to: int) -> None:
    """Start a node again that lies to another about its pieces, or about others'."""
    cluster.kill(node)
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        cluster.processes[node] = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.lying_node", about, str(to), str(path)],
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )


def _flipped(part: Buffer) -> bytes:
    return bytes([part[0] ^ 1]) + bytes(part[1:])


def _lie(about: str, to: int) -> None:
    exchanges = 0

    def lying(
        letters: Sequence[Letter], contents: Mapping[int, Any], me: int
    ) -> dict[int, list[Buffer]]:
        nonlocal exchanges
        made = frames(letters, contents, me)
        exchanges += 1
        parts = made.get(to, [])
        hashes = [k for k, part in enumerate(parts) if memoryview(part).nbytes == HASH_BYTES]
        pieces = [k for k in range(len(parts)) if k not in hashes]
        if exchanges >= ROUND and (at := hashes if about == "hash" else pieces):
            parts[at[-1]] = _flipped(memoryview(parts[at[-1]]).cast("B"))
        return made

    session.frames = lying  # type: ignore[attr-defined]


if __name__ == "__main__":
    _lie(sys.argv[1], int(sys.argv[2]))
    sys.exit(process.main(sys.argv[3:]))
