"""Nodes that differ from real ones: `python -m tests.on_nodes.altered_nodes KIND ... node-0.toml`.

::

    changed    other constants, by JSON: a value for each, by its module and name; and a clock that
               is as many seconds ahead as the file `clock-ahead` beside `node-0.toml` says. Writes
               the operator's lines, as `tacit node run` does
    dying      killed as by SIGKILL when it comes to a point
    full       has a disk without room for one line of its log, the first time
    lying      changes a bit of its own piece, or of the hash by which it vouches for another's, in
               one frame of every evaluation
    flooding   sends another node, or its platforms, thousands of tiny frames, once the file `flood`
               is beside `node-0.toml`; says of every node that it is gone
    voting     votes in ballots as it likes
    telling    tells others what it likes of inputs, before these are frozen
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tacit.errors import UnwrittenError
from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import NodeProcess
from tacit.mpc import SIGNATURE_BYTES, Session, session, signed_letters
from tacit.mpc.disclose import dominance
from tacit.mpc.letters import Letter, frames, others_of
from tacit.mpc.transport import Buffer, Channel, FrameKind, Header, Link, encode
from tacit.node import platform_connection, preparing, process
from tacit.node.agreement_state import AgreementState
from tacit.node.counters import BestSoFar
from tacit.node.inputs import Inputs
from tacit.node.links import PeerLinks
from tacit.node.own_log import log_as_json_lines
from tacit.node.platform_connection import PlatformConnection
from tacit.node.policy import refuse
from tacit.node.server import Node
from tacit.node.store import StoredInput
from tacit.node.voting import cast_vote as cast_an_honest_vote
from tacit.records.ballots import MOST_BALLOTS, Phase, Vote
from tacit.records.events import LogEvent
from tacit.records.messages import CastVote, VoteCast
from tacit.records.node_log import NodeLog
from tests.on_nodes.deadlines import AMPLE
from tests.support.nursery import nursery
from tests.support.telling import signed_word, tell_each


def _start(
    cluster: LocalCluster, node: int, kind: str, *arguments: str, options: Sequence[str] = ()
) -> NodeProcess:
    path = cluster.folder / f"node-{node}.toml"
    with (cluster.folder / f"node-{node}.err").open("ab") as errors:
        return nursery().start(
            "tests.on_nodes.altered_nodes", [kind, *arguments, str(path), *options], errors
        )


def _restart(cluster: LocalCluster, node: int, kind: str, *arguments: str) -> None:
    """Start a node again as one of another kind; kill it after the test."""
    cluster.kill(node)
    cluster.processes[node] = _start(cluster, node, kind, *arguments)


CLOCK = "clock-ahead"


def restart_changed(cluster: LocalCluster, node: int, changes: Mapping[str, float]) -> None:
    _restart(cluster, node, "changed", json.dumps(dict(changes)))


class ClockedCluster(LocalCluster):
    """Nodes whose clock a test sets."""

    def _launch(self, node: int) -> NodeProcess:
        return _start(self, node, "changed", "{}", options=["--throw-away"])

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


POINTS: dict[str, tuple[Any, str]] = {
    "keep best": (BestSoFar, "keep"),
    "freeze": (Inputs, "freeze"),
    "draw": (Inputs, "draw"),
    "count dominators": (dominance, "count_dominators"),
}
"""What the node is about to do when it is killed."""


def restart_dying(cluster: LocalCluster, node: int, point: str) -> None:
    """Start a node again that is killed as soon as it comes to this point."""
    _restart(cluster, node, "dying", point)


def _let_die(point: str) -> None:
    where, name = POINTS[point]
    setattr(where, name, _die)


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def restart_full(cluster: LocalCluster, node: int, line: str) -> None:
    """Start a node again whose disk is full when it would log this event, or vote in this phase."""
    _restart(cluster, node, "full", line)


def _run_full(line: str) -> None:
    real, refused = NodeLog.append, False

    def append(log: NodeLog, event: LogEvent) -> None:
        nonlocal refused
        if not refused and line in (event.name, getattr(event, "phase", "")):
            refused = True
            raise UnwrittenError("no space left on device")
        real(log, event)

    NodeLog.append = append  # type: ignore[method-assign]


LIES = ("piece", "hash", "pieces", "hash 2")
"""One of its own pieces, one hash, all of its pieces, or one hash of what node 2 sends."""
Frames = dict[int, list[Buffer]]
ROUND = 4
"""Lies from this exchange of an evaluation on, in the middle of the comparison."""


def restart_lying(cluster: LocalCluster, node: int, about: str, to: int) -> None:
    """Start a node again that lies to another about its pieces, or about others'."""
    _restart(cluster, node, "lying", about, str(to))


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


FLOOD, FLOODED = "flood", "flooded"


def restart_flooding(cluster: LocalCluster, node: int, to: int | None) -> None:
    """Start a node again that floods another, or its platforms, once it is told to."""
    _restart(cluster, node, "flooding", "" if to is None else str(to))


def tiny_frames(early: int, notices: int) -> Iterator[bytes]:
    """Frames for so many evaluations that nobody begins, then notices of others. 52 bytes each."""
    for number in range(early + notices):
        channel = Channel(b"nobody knows it!", evaluation=number, substream=0)
        if number >= early:
            channel = channel._replace(kind=FrameKind.NOTICE)
        yield encode(Header(channel, bytes(8), 0, 0, 0))


def let_flood(to: int | None, folder: Path) -> None:
    """Flood another node, or the platforms, once the file is there."""

    async def is_gone(*_: object, **__: object) -> bool:
        return True

    async def flood(link_of: Callable[[], Link]) -> None:
        while not (folder / FLOOD).exists():
            await asyncio.sleep(0.02)
        for each in tiny_frames(4096, 5038):
            await link_of().send(each, b"", timeout=AMPLE)
        (folder / FLOODED).touch()

    start, serve = PeerLinks.start, PlatformConnection.serve

    def starts(self: PeerLinks) -> None:
        start(self)
        if to is not None:
            self._spawn(flood(lambda: self.lines()[to].mux.link))

    async def serves(self: PlatformConnection) -> None:
        flooding = asyncio.ensure_future(flood(lambda: self.mux.link))
        await serve(self)
        flooding.cancel()

    PeerLinks.is_gone = is_gone  # type: ignore[method-assign]
    PeerLinks.start = starts  # type: ignore[method-assign]
    if to is None:
        PlatformConnection.serve = serves  # type: ignore[method-assign]


def restart_voting(cluster: LocalCluster, node: int, how: str) -> None:
    """Start a node again that votes otherwise, twice, far ahead, or refuses to."""
    _restart(cluster, node, "voting", how)


def vote_as_it_likes(choose: Callable[[], str]) -> None:
    """Vote in one of these ways, or honestly where none is chosen."""
    asked, honest = 0, cast_an_honest_vote

    async def cast_vote(node: Node, state: AgreementState, request: CastVote) -> VoteCast:
        nonlocal asked
        asked += 1
        how = choose()
        if not how:
            return await honest(node, state, request)
        if how == "refuses":
            raise refuse("this node objects")
        vote = Vote(node.number, request.subject, request.ballot, request.phase, request.value)
        if how == "far ahead":
            vote = replace(vote, ballot=MOST_BALLOTS - 1, phase=Phase.STATUS, value="")
        elif request.phase is not Phase.STATUS:
            vote = replace(vote, value="9:9:9" if how == "otherwise" else f"{asked}:1:1")
        signed = vote.sign(node.own_keys.signing(state.agreement), state.hash)
        return VoteCast(id=request.id, vote=signed)

    platform_connection.cast_vote = cast_vote  # type: ignore[attr-defined]


def restart_telling(cluster: LocalCluster, node: int, how: str) -> None:
    """Start a node again that tells node 0 of other inputs than the rest, or all of none or others.

    `how` is `commitments` or `manifests`, told to node 0 alone; `invents` or `lacks` some, or
    `replays` what was dropped, told to all; `passes on` what another node did not sign; or
    `says outside` of weights that are in their range.
    """
    _restart(cluster, node, "telling", how)


def tell_as_it_likes(choose: Callable[[], str]) -> None:
    """Tell of inputs in one of these ways, or honestly where none is chosen."""
    compare, drop, out_of_range = preparing._compare, preparing._drop, preparing._out_of_range
    dropped: dict[str, StoredInput] = {}

    def remember(state: Any, objective: int, inputs: Any, who: str, why: Any) -> None:
        if choose() != "says outside":
            dropped[who] = inputs[who]
            drop(state, objective, inputs, who, why)

    async def outside(state: Any, session: Any, objective: int, weights: Any) -> list[str]:
        found = await out_of_range(state, session, objective, weights)
        return [state.agreement.participants[0].name] if choose() == "says outside" else found

    async def lying(session: Session, state: Any, objective: int, inputs: Any) -> Any:
        honest, told, how = session.tell, 0, choose()

        if how in ("invents", "lacks"):
            who = next(iter(inputs))
            rest = {each: inputs[each] for each in inputs if each != who}
            made_up = replace(inputs[who], manifest=b"x")
            inputs = rest if how == "lacks" else {**rest, who: made_up}
        if how == "replays":
            found = await compare(session, state, objective, {**inputs, **dropped})
            # It goes on as if it had told the truth: it has what was sealed last.
            return dataclasses.replace(found, complete=True)

        async def tell(message: bytes) -> dict[int, bytes]:
            nonlocal told
            told += 1
            messages = dict.fromkeys(session.peers, message)
            if told == 1 and how in ("commitments", "manifests"):
                said = message[:-SIGNATURE_BYTES]
                said = bytes(32) + said[32:] if how == "commitments" else said[:-32] + b"x" * 32
                messages[0] = signed_word(session, said)
            elif told == 2 and how == "passes on":
                messages = dict.fromkeys(session.peers, bytes([message[0] ^ 1]) + message[1:])
            return await tell_each(session, messages) if told < 3 else await honest(message)

        if how in ("commitments", "manifests", "passes on"):
            session.tell = tell  # type: ignore[method-assign]
        return await compare(session, state, objective, inputs)

    preparing._compare, preparing._drop, preparing._out_of_range = lying, remember, outside


def main(kind: str, *arguments: str) -> int:
    """Run a node of this kind until its input ends."""
    place = next(at for at, each in enumerate(arguments) if each.endswith(".toml"))
    path, options = Path(arguments[place]), list(arguments[place:])
    match kind, *arguments[:place]:
        case "changed", changes:
            log_as_json_lines()
            _change(json.loads(changes), path.parent)
        case "dying", point:
            _let_die(point)
        case "full", line:
            _run_full(line)
        case "lying", about, to:
            _lie(about, int(to))
        case "flooding", to:
            let_flood(int(to) if to else None, path.parent)
        case "voting", how:
            vote_as_it_likes(lambda: how)
        case "telling", how:
            tell_as_it_likes(lambda: how)
    return process.main(options)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
