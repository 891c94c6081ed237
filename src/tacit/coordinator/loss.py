"""Which node a run goes on without, where its agreement allows that.

With four nodes, of which one does not answer for the agreed grace time, the three others go on if
all of them find it gone too; from then on nobody checks what they send each other. That happens
once in a run. The lost node is let in again between evaluations once it is back. If the run carries
a state from one to the next, what three have left is handed over to it, and stays not checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from tacit.agreement.terms import Agreement
from tacit.coordinator.node_client import NodeClient
from tacit.errors import MpcError, PeerError, PeerTimeoutError

RETRY_SECONDS = 0.5
PATIENCE_SECONDS = 2.0
"""A node that has not answered for so long is given up, until it comes back."""


@dataclass(slots=True)
class _Phase:
    """When three of four computed."""

    lost: int
    since: datetime | None
    """None if that was before this coordinator came."""
    until: datetime | None = None
    proven: bool = False

    def words(self, *, carries: bool) -> str:
        """For whoever reads the result; `carries` says whether later steps build on these."""
        since = "an earlier start" if self.since is None else f"{self.since:%H:%M:%S}"
        if self.proven:
            return (
                f"computed by three since node {self.lost} was proven to cheat, from {since} on "
                "(UTC)"
            )
        end = "on" if self.until is None else f"to {self.until:%H:%M:%S}"
        after = "; nor is what was built on it since" if carries and self.until else ""
        return (
            f"node {self.lost} was lost: computed by three, not checked, from {since} {end} (UTC)"
            f"{after}"
        )


class Loss:
    """Who takes part, as far as the platform knows."""

    def __init__(self, agreement: Agreement, clients: Sequence[NodeClient], /) -> None:
        self._clients = clients
        self._grace = agreement.grace_seconds
        self._may_lose = agreement.on_loss == "three" and len(clients) > 3
        self._gone_since: dict[int, float] = {}
        self._returning: asyncio.Task[None] | None = None
        self.without: int | None = None
        """The node that the others go on without."""
        self.is_proven = False
        """Whether it is proven to have cheated; then it never takes part again."""
        self._phase: _Phase | None = None
        self._carries = agreement.sealed or any(t.keeps_best for t in agreement.objectives)

    def opened(self, lost: Iterable[int | None]) -> None:
        """An epoch has begun as we wanted: from now on it is so.

        `lost` is whom the nodes say they once went on without.
        """
        now = datetime.now(UTC)
        before = next((node for node in lost if node is not None), None)
        if self._phase is None and self.without is not None:
            self._phase = _Phase(self.without, now, proven=self.is_proven)
        elif self._phase is None and before is not None:
            self._phase = _Phase(before, None)
        if self._phase is not None and self.without is None:
            self._phase.until = self._phase.until or now
            self._may_lose = False

    @property
    def has_happened(self) -> bool:
        """Whether three nodes computed for a while: what builds on that is not checked."""
        return self._phase is not None

    def exclude(self, number: int, /) -> None:
        """Go on without a node that is proven to cheat, unless one was lost before."""
        if self.without is None and self._phase is None:
            self.without, self.is_proven, self._may_lose = number, True, False

    @property
    def notes(self) -> list[str]:
        """What whoever reads the result must know."""
        return [] if self._phase is None else [self._phase.words(carries=self._carries)]

    @property
    def members(self) -> list[NodeClient]:
        """The nodes that take part."""
        return [client for client in self._clients if client.number != self.without]

    @property
    def patience(self) -> float:
        """After so many seconds without an answer a node is given up."""
        return min(PATIENCE_SECONDS, self._grace) if self._may_lose else PATIENCE_SECONDS

    def fell_silent(self, client: NodeClient, /) -> None:
        """A node has not answered for long: it counts as gone since it was asked."""
        now = asyncio.get_running_loop().time()
        self._gone_since.setdefault(client.number, now - client.silent_for())

    async def connect(self, *, everybody: bool) -> None:
        """Connect to all that take part; one that stays away for long may be lost."""
        members = self.members
        limit = self._grace if self._may_lose and not everybody else None
        results = await asyncio.gather(
            *(_connect(client, limit) for client in members), return_exceptions=True
        )
        failed = {c.number: r for c, r in zip(members, results, strict=True) if r is not None}
        self._note(failed)
        if not failed:
            return
        gone = self._long_gone(failed)
        if everybody or gone is None:
            raise next(iter(failed.values()))
        self._lose(gone)

    def _note(self, failed: Iterable[int]) -> None:
        now = asyncio.get_running_loop().time()
        self._gone_since = {n: self._gone_since.get(n, now) for n in failed}

    def _long_gone(self, failed: Iterable[int]) -> int | None:
        """The only node that is gone, if it has been for long enough and may be lost."""
        numbers = list(failed)
        if not self._may_lose or self.without is not None or len(numbers) != 1:
            return None
        since = asyncio.get_running_loop().time() - self._gone_since[numbers[0]]
        return numbers[0] if since >= self._grace else None

    def _lose(self, number: int) -> None:
        self.without = number
        client = next(client for client in self._clients if client.number == number)
        self._returning = asyncio.get_running_loop().create_task(_until_back(client))

    @property
    def is_back(self) -> bool:
        """Whether a node that was lost can be reached again, and may be let in."""
        return self._returning is not None and self._returning.done()

    def let_in(self) -> int | None:
        """Let all take part again; the node that was lost. None may be lost a second time."""
        lost, self.without = self.without, None
        self._returning, self._may_lose = None, False
        return lost

    def keep_out(self, lost: int | None) -> None:
        """The others cannot let it in again: they go on to the end without it."""
        self.without = lost

    def is_not_gone(self) -> None:
        """A node still reaches the one that we do not: all of them take part, once we do."""
        self._stop_waiting()
        self.without = None
        self._gone_since.clear()

    def _stop_waiting(self) -> None:
        if self._returning is not None:
            self._returning.cancel()
            self._returning = None

    def close(self) -> None:
        """Nobody waits for a lost node any more."""
        self._stop_waiting()


async def _connect(client: NodeClient, limit: float | None) -> None:
    try:
        async with asyncio.timeout(limit):
            await client.connect()
    except TimeoutError:
        raise PeerTimeoutError(client.name, "does not answer; start it") from None


async def _until_back(client: NodeClient) -> None:
    while not client.connected:
        with suppress(MpcError, PeerError):
            await client.connect()
            return
        await asyncio.sleep(RETRY_SECONDS)
