"""The kinds of faults: how each strikes a party of an arena, and how it is healed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tacit.identity.certificates import CertificateFiles
from tacit.mpc.transport import make_certificate
from tests.deployment.relay import Quality
from tests.faults.arena import Arena, Party, ServerProcess
from tests.faults.clocks import Clock
from tests.faults.disks import allow_writes, refuse_writes
from tests.faults.set_back import put_newest_back, set_back


def nothing() -> None:
    """There is nothing to prepare, or to clear away."""


@dataclass
class Fault:
    """A fault that is drawn, and not yet struck."""

    what: str
    strike: Callable[[], None]
    heal: Callable[[], None]
    seconds: float
    """From the one to the other."""
    party: Party | None = None
    """Whom it strikes; none where it is several of them, or what is between them."""
    stops_platform: bool = False
    """Whether nobody can store an answer while it lasts."""
    may_lose_node: bool = False
    """Whether nodes may go on without the one that it strikes."""
    ends_runs: tuple[str, ...] = ()
    """Reasons for which a run may fail for good: what each has to say, of the party above."""
    prepare: Callable[[], None] = nothing
    """Before any run begins."""
    clear: Callable[[], None] = nothing
    """After all runs have ended."""
    notes: list[str] = field(default_factory=list)


Draw = Callable[[Arena, random.Random], Fault]


def _kill(arena: Arena, chance: random.Random) -> Fault:
    """One party, one worker, or all nodes at once."""
    target = chance.choice([*arena.parties, arena.platform, "a worker", "all nodes"])
    if target == "a worker":
        return Fault("kill -9 of a worker", lambda: _kill_worker(arena, chance), nothing, 0.0)
    struck = [target] if isinstance(target, Party) else arena.nodes
    party = target if isinstance(target, Party) else None
    name = party.name if party is not None else "all nodes"

    def strike() -> None:
        for each in struck:
            each.process.kill()

    def heal() -> None:
        for each in struck:
            each.process.start()

    return Fault(
        f"kill -9 of {name}",
        strike,
        heal,
        chance.uniform(0.0, 4.0),
        party,
        stops_platform=party is arena.platform,
        may_lose_node=party in arena.nodes,
    )


def _kill_worker(arena: Arena, chance: random.Random) -> None:
    if workers := arena.workers():
        with suppress(ProcessLookupError):
            os.kill(chance.choice(workers), signal.SIGKILL)


def _stop(arena: Arena, chance: random.Random) -> Fault:
    party = chance.choice(arena.parties)
    return Fault(
        f"SIGSTOP of {party.name}",
        lambda: party.process.send(signal.SIGSTOP),
        lambda: party.process.send(signal.SIGCONT),
        chance.uniform(0.5, 6.0),
        party,
        stops_platform=party is arena.platform,
        may_lose_node=party in arena.nodes,
    )


def _full_disk(arena: Arena, chance: random.Random) -> Fault:
    party = chance.choice(arena.parties if arena.platform.disk else arena.nodes)
    disk = party.disk

    def fill() -> None:
        if disk is not None:
            disk.fill()
        elif (pid := party.process.pid) is not None:
            refuse_writes(pid)

    def make_room() -> None:
        if disk is not None:
            disk.make_room()
        elif (pid := party.process.pid) is not None:
            allow_writes(pid)

    return _of_a_disk(arena, chance, party, "full", fill, make_room)


def _read_only(arena: Arena, chance: random.Random) -> Fault:
    party = chance.choice(arena.nodes)
    disk = party.disk
    assert disk is not None
    return _of_a_disk(arena, chance, party, "read-only", disk.make_read_only, disk.make_writable)


def _of_a_disk(
    arena: Arena,
    chance: random.Random,
    party: Party,
    how: str,
    break_it: Callable[[], None],
    mend_it: Callable[[], None],
) -> Fault:
    """A disk that takes nothing more; now and then its party is killed and starts on it."""
    server = party.process
    killed = chance.random() < 0.35 and isinstance(server, ServerProcess)

    def strike() -> None:
        break_it()
        if killed:
            server.kill()
            server.start()

    def heal() -> None:
        mend_it()
        # Whoever starts servers does so until they stay.
        if isinstance(server, ServerProcess) and server.has_ended():
            server.kill()
            server.start()

    return Fault(
        f"disk of {party.name} {how}{', and killed' if killed else ''}",
        strike,
        heal,
        chance.uniform(0.5, 6.0),
        party,
        stops_platform=party is arena.platform,
        may_lose_node=party in arena.nodes,
    )


def _restart_database(arena: Arena, chance: random.Random) -> Fault:
    server, how = arena.postgres, chance.choice(["fast", "immediate"])
    assert server is not None
    return Fault(
        f"PostgreSQL stopped ({how})",
        lambda: server.stop(how),
        server.start,
        chance.uniform(0.0, 4.0),
        arena.platform,
        stops_platform=True,
    )


def _jump(arena: Arena, chance: random.Random) -> Fault:
    """A clock that jumps, and is put right later."""
    party = chance.choice(arena.parties)
    sign, size = chance.choice([-1, 1]), chance.choice([20, 600, 3 * 3600, 2 * 86400])
    process = party.process
    assert isinstance(process, ServerProcess)
    clock = Clock(arena.folder / f"clock of {party.name}")

    def begin() -> None:
        process.kill()
        process.start(clock.environment)

    def end() -> None:
        process.kill()
        process.start()

    return Fault(
        f"clock of {party.name} jumps {sign * size:+d} s",
        lambda: clock.jump(sign * size),
        lambda: clock.jump(0),
        chance.uniform(0.5, 6.0),
        party,
        prepare=begin,
        clear=end,
    )


def _cut(arena: Arena, chance: random.Random) -> Fault:
    """Nothing arrives any more: between two nodes, or between one party and all nodes."""
    relay = arena.relay
    assert relay is not None
    one, *others = chance.sample([party.name.replace(" ", "-") for party in arena.nodes], 2)
    party = next(each for each in arena.nodes if each.name.replace(" ", "-") == one)
    names = [each.name.replace(" ", "-") for each in arena.parties]
    case = chance.choice(["pair", "node", "platform"])
    if case == "node":
        others = [name for name in names if name != one]
    elif case == "platform":
        one, others = "platform", names[:-1]
    return Fault(
        f"{one} cut off from {' and '.join(others) if case == 'pair' else 'all'}",
        lambda: relay.part(one, others),
        relay.mend,
        chance.uniform(0.5, 6.0),
        None if case == "platform" else party,
        may_lose_node=case == "node",
    )


def _slow(arena: Arena, chance: random.Random) -> Fault:
    """All links slow, and some reset now and then."""
    relay = arena.relay
    assert relay is not None
    delay = chance.uniform(0.02, 0.2)
    quality = Quality(
        delay, chance.uniform(0, delay), bandwidth=chance.uniform(2e5, 2e6), breaks_per_minute=40.0
    )

    def strike() -> None:
        relay.quality = quality

    def heal() -> None:
        relay.quality = Quality()

    what = f"links slow: {1000 * delay:.0f} ms, {quality.bandwidth or 0:.0f} B/s, resets"
    return Fault(what, strike, heal, chance.uniform(2.0, 6.0))


def _expire(arena: Arena, chance: random.Random) -> Fault:
    """The certificate that all have pinned has expired, and links break."""
    party = chance.choice(arena.parties)
    relay, name = arena.relay, party.name.replace(" ", "-")
    assert relay is not None
    files = CertificateFiles(arena.cluster / f"{name}.pem", arena.cluster / f"{name}.tls.key")
    good = files.certificate.read_bytes(), files.key.read_bytes()
    pem, key = make_certificate(name, days=-0.01)

    def put(certificate: bytes, secret: bytes) -> None:
        for path, data in ((files.key, secret), (files.certificate, certificate)):
            draft = path.with_name(f".{path.name}")
            draft.write_bytes(data)
            draft.chmod(0o600)
            draft.replace(path)
        relay.reset(name)

    return Fault(
        f"certificate of {party.name} expired",
        lambda: put(pem.encode(), key.encode()),
        lambda: put(*good),
        chance.uniform(0.5, 6.0),
        party,
        may_lose_node=party in arena.nodes,
    )


def _set_back(arena: Arena, chance: random.Random) -> Fault:
    """A node's folder as it was some seconds ago, then the newest one again."""
    party = chance.choice(arena.nodes)
    seconds = chance.uniform(0.2, 3.0)
    kept = tempfile.TemporaryDirectory(prefix="tacit-newest-")
    old, newest = Path(kept.name) / "old", Path(kept.name) / "newest"

    def strike() -> None:
        party.process.send(signal.SIGSTOP)
        shutil.copytree(party.data, old)
        party.process.send(signal.SIGCONT)
        time.sleep(seconds)
        party.process.kill()
        shutil.copytree(party.data, newest)
        set_back(party.data, old, newest)
        party.process.start()

    def heal() -> None:
        party.process.kill()
        put_newest_back(party.data, newest)
        party.process.start()

    return Fault(
        f"{party.name} set back by {seconds:.1f} s",
        strike,
        heal,
        chance.uniform(1.0, 6.0),
        party,
        may_lose_node=True,
        ends_runs=("set back", "sealing key that we did not offer"),
        clear=kept.cleanup,
    )


KINDS: dict[str, Draw] = {
    "kill": _kill,
    "stop": _stop,
    "full disk": _full_disk,
    "read-only disk": _read_only,
    "database": _restart_database,
    "clock": _jump,
    "cut": _cut,
    "slow": _slow,
    "certificate": _expire,
    "set back": _set_back,
}
WITHOUT_ROOT = ("kill", "stop", "full disk")
"""Kinds that need neither a host nor a disk of one's own."""
