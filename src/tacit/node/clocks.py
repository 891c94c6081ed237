"""Compare the node's clock with those of its peers, and say whose is off.

Agreements expire by the clocks of the nodes, and so does the time of a sealed run. A clock that is
off shows as a run that ends too early or too late, so the operator hears of it before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import msgspec

from tacit.files import replace_secret
from tacit.identity.config import NodeConfig
from tacit.mpc import party_name
from tacit.node.links import PeerLine
from tacit.records.events import ClockCompared

CLOCKS = "clocks"
"""The file in the data folder that says whose clock was off at the last look, and by how much."""
TOLERANCE_SECONDS = 2.0
"""Clocks that differ by more are worth a warning."""


_READ = msgspec.json.Decoder(dict[str, float])


def clocks_off(me: int, offsets: Mapping[int, float], /) -> dict[int, float]:
    """Return whose clock is off and by how much, from how far each peer's is ahead of this one.

    This node's own clock is the one that is off where most peers agree on another time.

    >>> clocks_off(0, {1: 0.1, 2: -65.0})
    {2: -65.0}
    >>> clocks_off(0, {1: 65.1, 2: 64.9})
    {0: -65.0}
    >>> clocks_off(0, {1: 65.0, 2: -65.0, 3: 0.5})
    {1: 65.0, 2: -65.0}
    """
    far = {peer: ahead for peer, ahead in offsets.items() if abs(ahead) > TOLERANCE_SECONDS}
    most = 2 * len(far) > len(offsets) > 1
    if most and max(far.values()) - min(far.values()) <= 2 * TOLERANCE_SECONDS:
        return {me: -median(far.values())}
    return far


def describe_clock(party: str, ahead: float, /) -> str:
    """Return a sentence about a clock that is off.

    >>> describe_clock("node 1", -65.0)
    'the clock of node 1 is 65 s behind; have its operator set it by NTP'
    """
    side = "ahead" if ahead > 0 else "behind"
    return f"the clock of {party} is {abs(ahead):.0f} s {side}; have its operator set it by NTP"


class Clocks:
    """The clocks of this node and its peers."""

    def __init__(
        self,
        data: Path,
        me: int,
        lines: Callable[[], Mapping[int, PeerLine]],
        /,
        *,
        log: Callable[[ClockCompared], None],
    ) -> None:
        self._path, self._me, self._lines, self._log = data / CLOCKS, me, lines, log
        self._off: set[str] | None = None
        """Whose clock was off at the last look; None before the first."""

    async def look(self) -> None:
        """Ask all peers for their time, and say what has changed since the last look."""
        lines = self._lines()
        await asyncio.gather(*(line.answers() for line in lines.values()))
        offsets = {peer: line.clock_ahead for peer, line in lines.items()}
        self.judge({peer: ahead for peer, ahead in offsets.items() if ahead is not None})

    def judge(self, offsets: Mapping[int, float], /) -> None:
        """Say whose clock is off, once, and when it is right again."""
        if not offsets:
            return
        found = clocks_off(self._me, offsets)
        ahead = {party_name(node): round(by, 1) for node, by in sorted(found.items())}
        # Of a peer that is away now nothing is known, and nothing is said.
        before = {party_name(node) for node in (self._me, *offsets)} & (self._off or set())
        for party in ahead.keys() - before:
            self._log(ClockCompared(party, describe_clock(party, ahead[party]), ahead=ahead[party]))
        for party in before - ahead.keys():
            self._log(ClockCompared(party, "the clock is right again"))
        if self._off != {*ahead}:
            self._off = {*ahead}
            replace_secret(self._path, msgspec.json.encode(ahead))


def clocks_on_disk(config: NodeConfig, /) -> dict[str, float]:
    """Return whose clock was off at the node's last look, and by how much; it may run meanwhile."""
    try:
        return _READ.decode((Path(config.folder) / config.data / CLOCKS).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
