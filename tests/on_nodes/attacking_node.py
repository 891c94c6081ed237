"""A node that knows every attack, and makes the one that a test names in the file `attack`.

Run as a module of its own, `python -m tests.on_nodes.attacking_node node-3.toml`. Without the file,
or where that is empty, it is honest::

    votes HOW          votes in ballots as it likes (`altered_nodes`)
    tells HOW          tells others what it likes of inputs, before these are frozen
    refuses steps      refuses to compute, and says so to its peers
    refuses            refuses whatever a platform asks for
    blames             ends each computation, and says that node 1 is why
    stalls             answers nothing but whether it is there
    ends late          computes, and then says that it failed
    refuses epochs     refuses to begin an epoch
    forgets            says that its log does not contain what its peers remember
    accuses            says that its peers' logs lack lines, which they never had
    invents            names numbers, states, seeds and losses that there are not

The last four end one attempt first, so that there is another epoch. It says of every node that it
is gone, and floods node 2 once the file `flood` is there.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacit.errors import AbortError
from tacit.local.cluster import LocalCluster
from tacit.mpc import Session, party_name
from tacit.node import process
from tacit.node.computation import NodeComputation
from tacit.node.epoch_state import Epochs, PeerHeads
from tacit.node.platform_connection import PlatformConnection
from tacit.node.policy import refuse
from tacit.records.messages import (
    AgreementTaken,
    BatchDone,
    Computation,
    Computed,
    EpochOpened,
    LogPage,
    OpenEpoch,
)
from tests.on_nodes.altered_nodes import let_flood, tell_as_it_likes, vote_as_it_likes
from tests.support.mending import starts, wait_for_start
from tests.support.nursery import nursery

ATTACK = "attack"
HUGE = 1 << 40
IN_EPOCHS = ("refuses epochs", "forgets", "accuses", "invents")
BLAMED = 1
"""The honest node that it blames."""


def restart_attacking(cluster: LocalCluster, node: int) -> None:
    """Start a node again that makes the attacks it is told; kill it after the test."""
    before = starts(cluster, node)
    make_attack(cluster, "")
    cluster.kill(node)
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        path = cluster.folder / f"node-{node}.toml"
        started = nursery().start("tests.on_nodes.attacking_node", [str(path)], errors)
    cluster.processes[node] = started
    wait_for_start(cluster, node, before)


def make_attack(cluster: LocalCluster, what: str) -> None:
    """Have the attacking node make this attack from now on; none if it is empty."""
    new = cluster.folder / f"{ATTACK}.new"
    new.write_text(what)
    new.rename(cluster.folder / ATTACK)


class _Attacks:
    """What the node does now, by the file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._broken = 0.0
        """When the attack was named for which an attempt was ended."""

    def breaks(self) -> bool:
        """Whether to end an attempt: for some attacks each, for others one."""
        named = (self._folder / ATTACK).stat().st_mtime
        if str(self) in IN_EPOCHS and named != self._broken:
            self._broken = named
            return True
        return str(self) == "blames"

    def __str__(self) -> str:
        with suppress(FileNotFoundError):
            return (self._folder / ATTACK).read_text()
        return ""

    def how(self, what: str) -> str:
        """The way in which it makes an attack of this kind now; empty if it makes another."""
        kind, _, way = str(self).partition(" ")
        return way if kind == what else ""


def _attack_computations(now: _Attacks) -> None:
    begins, session = NodeComputation.begins, NodeComputation.session

    @asynccontextmanager
    async def begins_or_not(self: NodeComputation) -> AsyncIterator[None]:
        async with begins(self):
            if str(now) == "refuses steps":
                raise refuse("this node objects")
            yield

    @asynccontextmanager
    async def session_or_not(self: NodeComputation, **options: Any) -> AsyncIterator[Session]:
        async with session(self, **options) as made:
            if now.breaks():
                raise AbortError(party_name(BLAMED), "sent nothing")
            yield made

    NodeComputation.begins = begins_or_not  # type: ignore[method-assign]
    NodeComputation.session = session_or_not  # type: ignore[method-assign]


def _attack_logs(now: _Attacks) -> None:
    contains, tell = PeerHeads.contains, Epochs.tell

    def contains_or_not(self: PeerHeads, remembered: Any) -> bool:
        return str(now) != "forgets" and contains(self, remembered)

    async def tells_more(self: Epochs, peer: int) -> Any:
        said = await tell(self, peer)
        return said if str(now) != "accuses" else replace(said, size=said.size + HUGE)

    PeerHeads.contains = contains_or_not  # type: ignore[method-assign]
    Epochs.tell = tells_more  # type: ignore[method-assign]


def _made_up(answer: Any) -> Any:
    match answer:
        case EpochOpened():
            numbers = dict.fromkeys(answer.numbers, HUGE)
            return replace(answer, numbers=numbers, states={}, kept={}, lost=BLAMED)
        case AgreementTaken():
            frozen = [*range(9)]
            return replace(
                answer, epoch=(1 << 63) - 1, frozen=frozen, seed_contributions={}, states={}
            )
        case BatchDone():
            return replace(answer, seed=answer.seed + 1)
        case LogPage():
            return replace(answer, log=b"nothing\n")
    return answer


def _attack_answers(now: _Attacks) -> None:
    carry_out = PlatformConnection._carry_out

    async def carries_out_or_not(self: PlatformConnection, request: Any) -> Any:
        attack = str(now)
        if attack == "refuses" or (attack == "refuses epochs" and isinstance(request, OpenEpoch)):
            raise refuse("this node objects")
        while str(now) == "stalls" and isinstance(request, Computation | OpenEpoch):
            await asyncio.sleep(0.02)
        answer = await carry_out(self, request)
        if attack == "ends late" and isinstance(answer, Computed):
            raise AbortError(party_name(BLAMED), "sent nothing")
        return _made_up(answer) if attack == "invents" else answer

    PlatformConnection._carry_out = carries_out_or_not  # type: ignore[method-assign]


def main(path: str) -> int:
    """Run the node until its input ends."""
    folder = Path(path).parent
    now = _Attacks(folder)
    let_flood(2, folder)
    vote_as_it_likes(lambda: now.how("votes"))
    tell_as_it_likes(lambda: now.how("tells"))
    _attack_computations(now)
    _attack_logs(now)
    _attack_answers(now)
    return process.main([path])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
