"""A node that sends something else than it computed: `python -m tests.on_nodes.lying_node`.

It is a node as any other, but for one frame of every evaluation, of which it changes a bit of its
own piece, or of the hash by which it vouches for another's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from tacit.local.cluster import LocalCluster
from tacit.mpc import session, signed_letters
from tacit.mpc.letters import Letter, frames, others_of
from tacit.mpc.transport import Buffer
from tacit.node import process
from tests.support.nursery import nursery

LIES = ("piece", "hash", "pieces", "hash 2")
"""One of its own pieces, one hash, all of its pieces, or one hash of what node 2 sends."""
Frames = dict[int, list[Buffer]]
ROUND = 4
"""Lies from this exchange of an evaluation on, in the middle of the comparison."""


def restart_lying(cluster: LocalCluster, node: int, about: str, to: int) -> None:
    """Start a node again that lies to another about its pieces, or about others'."""
    cluster.kill(node)
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        cluster.processes[node] = nursery().start(
            "tests.on_nodes.lying_node", [about, str(to), str(path)], errors
        )


def _flipped(part: Buffer) -> bytes:
    return bytes([part[0] ^ 1]) + bytes(part[1:])


def _lie(about: str, to: int) -> None:
    exchanges = 0

    def lying(make: Callable[..., Frames], others: Callable[..., list[int]]) -> Callable[..., Any]:
        def made_up(letters: Sequence[Letter], contents: Any, me: int, *salt: Any) -> Frames:
            nonlocal exchanges
            made = make(letters, contents, me, *salt)
            exchanges += 1
            if exchanges >= ROUND and to in made:
                vouched = others(letters, me, to)
                for k in _chosen(made[to], about, vouched):
                    made[to][k] = _flipped(memoryview(made[to][k]).cast("B"))
            return made

        return made_up

    # What it signs, where all sign, is its lie.
    session.frames = lying(frames, others_of)  # type: ignore[attr-defined]
    signed_letters.salted_frames = lying(signed_letters.salted_frames, _others_in_groups)


def _others_in_groups(letters: Sequence[Letter], me: int, to: int) -> list[int]:
    groups = signed_letters.groups_of(letters, me, to)
    return [other for senders in groups for other in senders if other != me]


def _chosen(parts: list[Buffer], about: str, vouched: list[int]) -> list[int]:
    """Which parts of a frame to change: pieces come first, then a hash for each that is vouched."""
    pieces = [k for k in range(len(parts) - len(vouched)) if memoryview(parts[k]).nbytes]
    hashes = range(len(parts) - len(vouched), len(parts))
    match about.split():
        case ["pieces"]:
            return pieces
        case ["piece"]:
            return pieces[-1:]
        case ["hash"]:
            return [*hashes][-1:]
    return [k for k, other in zip(hashes, vouched, strict=True) if about == f"hash {other}"][:1]


if __name__ == "__main__":
    _lie(sys.argv[1], int(sys.argv[2]))
    sys.exit(process.main(sys.argv[3:]))
