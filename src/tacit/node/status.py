"""Describe a node from its host: whether it runs, what it keeps, what expires, what is open.

Everything is read from its files, so this also works while the node is down or hangs.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tacit.agreement.terms import agreement_hash
from tacit.files import disk_warnings
from tacit.identity import rotated_by_node
from tacit.identity.certificates import expiry_warnings
from tacit.identity.config import NodeConfig, parse_address
from tacit.mpc import party_name
from tacit.node.admission import Parties
from tacit.node.clocks import clocks_on_disk, describe_clock
from tacit.node.limits import RoomUsed, open_agreements, rooms_on_disk
from tacit.records.events import LogEvent
from tacit.records.log import decode_line

TAIL_BYTES = 64 * 1024
"""The last line of a log is within so many bytes; what nodes write is far shorter."""


class OpenAgreement(msgspec.Struct, frozen=True):
    """An agreement that has not ended, with the last line of its log."""

    agreement: str
    """Its hash."""
    platform: str
    expires: float
    """Seconds since 1970; the node ends it then."""
    last: str | None
    """The kind of the last event in its log."""
    at: float | None


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node as its operator wants to see it."""

    node: str
    listen: str
    runs: bool | None
    """Whether a process listens at its address; None if that cannot be told."""
    platforms: dict[str, RoomUsed]
    """Per platform, what is kept for it, and how much may be."""
    agreements: list[OpenAgreement]
    expire: dict[str, float]
    """Per party, when its certificate expires."""
    clocks_ahead: dict[str, float]
    """By the party whose clock was off at the last look, by how many seconds it is ahead."""
    rotation: str | None
    """The step that comes next in a rotation that was begun."""
    critical: list[str]
    """What keeps the node from working, with what to do."""
    warnings: list[str]
    """What will, unless somebody acts."""


def node_status(config: NodeConfig, /, *, now: float) -> NodeStatus:
    """Read how a node is; only reads, so the node may run meanwhile."""
    parties, data = Parties(config), Path(config.folder) / config.data
    runs, expire = is_listening(config.listen), parties.certificates_expire()
    rooms, rotation = rooms_on_disk(config), rotated_by_node(config).open_step
    agreements, broken = _agreements(parties, data)
    clocks = clocks_on_disk(config)
    expired = {party: at for party, at in expire.items() if at <= now}
    critical = [*expiry_warnings(expired, now).values(), *broken]
    if runs is False:
        critical.insert(0, f"nothing listens at {config.listen}; start the node")
    soon = {party: at for party, at in expire.items() if party not in expired}
    return NodeStatus(
        node=party_name(config.node),
        listen=config.listen,
        runs=runs,
        platforms=rooms,
        agreements=agreements,
        expire=expire,
        clocks_ahead=clocks,
        rotation=rotation,
        critical=critical,
        warnings=[
            *expiry_warnings(soon, now).values(),
            *(describe_clock(party, ahead) for party, ahead in clocks.items()),
            *_room_warnings(rooms),
            *disk_warnings(data),
        ],
    )


def is_listening(address: str, /) -> bool | None:
    """Whether some process listens at an address of this machine; None if that cannot be told.

    Connecting would tell as well, and would leave a line in the node's log each time.
    """
    host, port = parse_address(address)
    try:
        (family, kind, _, _, place), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with socket.socket(family, kind) as trial:
            # As servers do: connections that have just ended do not count, only who listens.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
    except OSError as error:
        return True if error.errno == errno.EADDRINUSE else None
    return False


def _agreements(parties: Parties, data: Path) -> tuple[list[OpenAgreement], list[str]]:
    names = {
        certificate: name
        for name in parties.platforms
        for certificate in parties.platform_certificates(name)
    }
    found, broken = [], []
    for folder, agreement in open_agreements(data):
        if agreement is None:
            broken.append(f"{folder} cannot be read; its runs need a new agreement")
            continue
        last = last_event(folder / "log.jsonl")
        found.append(
            OpenAgreement(
                agreement=agreement_hash(agreement).hex(),
                platform=names.get(agreement.platform, "unknown"),
                expires=agreement.limits.expires,
                last=None if last is None else last.name,
                at=None if last is None else last.at,
            )
        )
    return found, broken


def last_event(path: Path, /) -> LogEvent | None:
    """Read the last line of a log; None if there is none, or it is being written."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            *_, line = file.read().splitlines()
        return decode_line(line)
    except (OSError, ValueError, msgspec.DecodeError):
        return None


def _room_warnings(rooms: dict[str, RoomUsed]) -> Iterator[str]:
    for name, room in rooms.items():
        if room.is_little:
            setting, used = room.scarcest
            yield (
                f"{name} has taken {used:.0%} of {setting}; end or cancel runs, or change node.toml"
            )
