"""Decide which nodes take part: who is silent, lost, or proven to have cheated.

With four nodes, of which one does not answer, the three others are asked to go on without it. Each
of them looks for itself, for the agreed grace time, and refuses if it finds a sign of life. From
then on nobody checks what they send each other. That happens once in a run. The lost node is let in
again between evaluations once it is back. If the run carries a state from one to the next, what
three have left is handed over to it, and stays not checked.

Once something that nodes sent did not fit, all attempts of the run are signed: whoever lies again
leaves proof. What nodes show as evidence is checked here, and again by every node that is asked to
go on without another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from tacit.agreement.terms import Agreement
from tacit.coordinator.node_client import NodeClient
from tacit.errors import (
    LogError,
    LoneRefusalError,
    MismatchError,
    MpcError,
    PeerError,
    PeerTimeoutError,
    RefusedError,
    TacitError,
)
from tacit.mpc import CLUSTER_SIZES
from tacit.records.evidence import Shown, describe_suspects, read_evidence, suspects
from tacit.records.messages import Message


class Naming:
    """What the platform knows of nodes that lie."""

    def __init__(self, agreement: Agreement, /) -> None:
        self._agreement = agreement
        self.signed = False
        """Whether attempts are signed from now on."""
        self.evidence: list[bytes] = []
        """Statements that prove what we know."""
        self.suspects: frozenset[int] = frozenset()
        """One of these departed from the protocol; nobody is known to have, if it is empty."""

    def hear(self, reason: BaseException, /) -> None:
        # Signing costs time, so it begins only when something did not fit. Whoever lies again then
        # leaves proof.
        if isinstance(reason, MismatchError):
            self.signed = True
            self.examine(reason.evidence)

    def examine(self, evidence: Sequence[bytes], /) -> None:
        """Keep what proves more than is known; whoever makes something up proves nothing."""
        more = [each for each in evidence if each not in self.evidence]
        if not more:
            return
        try:
            read = read_evidence(self._agreement, [*self.evidence, *more])
            left = suspects(read)
        except LogError:
            return
        # Kept as small as possible: nodes refuse evidence that is too long to be sent.
        if left != self.suspects:
            signed = dict(zip(read, [*self.evidence, *more], strict=True))
            self.suspects = left
            self.evidence = [signed[statement] for statement in _needed(read, left)]

    @property
    def named(self) -> int | None:
        """Return the one node that is proven to have departed from the protocol."""
        return next(iter(self.suspects)) if len(self.suspects) == 1 else None

    @property
    def words(self) -> str:
        """Say what is known; empty if nothing is."""
        return describe_suspects(self.suspects) if self.suspects else ""


def _needed(statements: Sequence[Shown], left: frozenset[int]) -> list[Shown]:
    """Drop statements that prove nothing: whoever lies may have added any number of them."""
    kept = [*statements]
    for each in statements:
        rest = [other for other in kept if other != each]
        with suppress(LogError):
            if suspects(rest) == left:
                kept = rest
    return kept


RETRY_SECONDS = 0.5
PATIENCE_SECONDS = 2.0
"""A node that has not answered for so long is given up, until it comes back. That removes nobody:
the other nodes decide about that, and take the agreed time for it."""


@dataclass(slots=True)
class _Phase:
    """When three of four computed."""

    lost: int
    since: datetime | None
    """None if that was before this coordinator came."""
    until: datetime | None = None
    proven: bool = False

    def words(self, *, carries: bool) -> str:
        """Say it to readers of the result; `carries`: later steps build on these."""
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
        self._patience = min(PATIENCE_SECONDS, agreement.grace_seconds)
        self._may_lose = agreement.on_loss == "three" and len(clients) > 3
        self._gone_since: dict[int, float] = {}
        self.failing: PeerError | None = None
        """The last failure of the one node for which all attempts have failed lately."""
        self._failing_since = 0.0
        self._returning: asyncio.Task[None] | None = None
        self.without: int | None = None
        """The node that the others go on without."""
        self.is_proven = False
        """Whether it is proven to have cheated; then it never takes part again."""
        self._phase: _Phase | None = None
        self._carries = agreement.sealed or any(t.keeps_best for t in agreement.objectives)

    def opened(self, lost: Iterable[int | None]) -> None:
        """Note that an epoch has begun with those who take part now.

        `lost` is whom the nodes say they once went on without.
        """
        now = datetime.now(UTC)
        said = [*lost]
        # Of four nodes one may make a loss up. All three that went on know of one.
        least = 1 + (len(said) == max(CLUSTER_SIZES))
        known = (node for node in said if node is not None and said.count(node) >= least)
        before = next(known, None)
        if self._phase is None and self.without is not None:
            self._phase = _Phase(self.without, now, proven=self.is_proven)
        elif self._phase is None and before is not None:
            self._phase = _Phase(before, None)
        if self._phase is not None and self.without is None:
            # None is lost a second time.
            self._phase.until = self._phase.until or now
            self._may_lose = False

    @property
    def has_happened(self) -> bool:
        """Return whether three nodes computed for a while: what builds on that is not checked."""
        return self._phase is not None

    def exclude(self, number: int, /) -> None:
        """Go on without a node that is proven to cheat, unless one was lost before."""
        # Once in a run: the protocols allow for one faulty node of four, not for two. Two of three
        # nodes compute nothing.
        of_four = len(self._clients) == max(CLUSTER_SIZES)
        if of_four and self.without is None and self._phase is None:
            self.without, self.is_proven, self._may_lose = number, True, False

    @property
    def notes(self) -> list[str]:
        return [] if self._phase is None else [self._phase.words(carries=self._carries)]

    @property
    def members(self) -> list[NodeClient]:
        return [client for client in self._clients if client.number != self.without]

    @property
    def awaited(self) -> list[NodeClient]:
        """Return the members, and a node that the others have not gone on without yet."""
        return self.members if self._phase is not None else list(self._clients)

    @property
    def patience(self) -> float:
        """Return after how many seconds without an answer a node is given up."""
        return self._patience if self._may_lose else PATIENCE_SECONDS

    def fell_silent(self, client: NodeClient, /) -> None:
        """Count a node as gone since it was asked and did not answer."""
        now = asyncio.get_running_loop().time()
        self._gone_since.setdefault(client.number, now - client.silent_for())

    def failed(self, error: PeerError | None, /) -> None:
        """Note for which node an attempt failed, by its own word or by that of two others."""
        if error is None or self.failing is None or self.failing.peer != error.peer:
            self._failing_since = asyncio.get_running_loop().time()
        self.failing = error

    async def connect(self, *, everybody: bool) -> None:
        """Connect to all that take part; one that stays away, or fails, for long may be lost."""
        members = self.members
        limit = self._patience if self._may_lose and not everybody else None
        results = await asyncio.gather(
            *(_connect(client, limit) for client in members), return_exceptions=True
        )
        failed = {c.number: r for c, r in zip(members, results, strict=True) if r is not None}
        self._note(failed)
        if not failed:
            failing = self._long_failing()
            if failing is not None and not everybody:
                self._lose(failing)
            return
        gone = self._long_gone(failed)
        # Only what all nodes must do, such as freezing inputs, waits for a lost one.
        if everybody or gone is None:
            raise next(iter(failed.values()))
        self._lose(gone)

    def _note(self, failed: Iterable[int]) -> None:
        now = asyncio.get_running_loop().time()
        # Whoever answered once is not gone; its time begins anew.
        self._gone_since = {n: self._gone_since.get(n, now) for n in failed}

    def _long_gone(self, failed: Iterable[int]) -> int | None:
        """Return the only node that is gone, if it is time to ask the others about it."""
        numbers = list(failed)
        if not self._may_lose or self.without is not None or len(numbers) != 1:
            return None
        since = asyncio.get_running_loop().time() - self._gone_since[numbers[0]]
        # The grace time is not counted here but by the nodes, which do not trust our word.
        return numbers[0] if since >= self._patience else None

    def _long_failing(self) -> int | None:
        """Return the node that all attempts fail for, if it is time to ask the others about it.

        They may not reach it though we do. Where they do, they refuse to go on without it: a node
        refuses honestly what a platform that lies asks of it, and must not be removed for that.
        """
        if not self._may_lose or self.without is not None or self.failing is None:
            return None
        failing = (each.number for each in self._clients if each.name == self.failing.peer)
        since = asyncio.get_running_loop().time() - self._failing_since
        return next(failing, None) if since >= self._patience else None

    def _lose(self, number: int) -> None:
        self.without = number
        client = next(client for client in self._clients if client.number == number)
        # One that is reached from here and not by the others stays out: nobody here would notice
        # when they reach it again.
        if not client.connected:
            self._returning = asyncio.get_running_loop().create_task(_until_back(client))

    @property
    def is_back(self) -> bool:
        """Return whether a node that was lost can be reached again, and may be let in."""
        return self._returning is not None and self._returning.done()

    def let_in(self) -> int | None:
        """Let all take part again, and return the lost node."""
        lost, self.without = self.without, None
        self._returning = None
        return lost

    def keep_out(self, lost: int | None) -> None:
        """Go on without a lost node to the end, since the others cannot let it in again."""
        self.without = lost

    def is_not_gone(self) -> None:
        """Wait for a node that others still reach, until it can be reached from here too."""
        self._stop_waiting()
        self.without = None
        self._gone_since.clear()
        self._failing_since = asyncio.get_running_loop().time()

    def _stop_waiting(self) -> None:
        if self._returning is not None:
            self._returning.cancel()
            self._returning = None

    def close(self) -> None:
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


T = TypeVar("T")
R = TypeVar("R", bound=Message)

PING_SECONDS = 0.1
"""How often nodes are asked whether they are there, while one of them is waited for."""
ALONE_SECONDS = 1.0
"""So long three nodes are waited for where the fourth refuses: one may lie, and two do not."""


class Watch:
    """Watches the nodes of one agreement while something is waited for."""

    def __init__(self, clients: Sequence[NodeClient], loss: Loss, naming: Naming, /) -> None:
        self._clients, self._loss, self._naming = clients, loss, naming

    async def cancel(self, asked: Iterable[asyncio.Future[Any]], /) -> None:
        for reply in asked:
            for client in self._clients:
                await client.cancel(reply)

    async def result(self, work: asyncio.Future[T], asked: Iterable[asyncio.Future[R]], /) -> T:
        """Return the result of some work, unless a node fails or stays silent first."""
        replies = list(asked)
        try:
            while not work.done() and not any(_failed(reply) for reply in replies):
                everything: set[asyncio.Future[Any]] = {work}
                everything.update(reply for reply in replies if not reply.done())
                done, _ = await asyncio.wait(
                    everything, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    await self._look_around()
            if work.done() and not _failed(work):
                return work.result()
            raise await self._why(work, replies)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _why(
        self, work: asyncio.Future[T], replies: list[asyncio.Future[R]]
    ) -> BaseException:
        """Find the reason of a failure; a refusal counts most, and comes right after its notice."""
        # Nodes that fail with one another report it within a moment. A refusal among these reports
        # says more than the failures that follow from it.
        await _wait_for(replies, PING_SECONDS)
        of_four = len(replies) == max(CLUSTER_SIZES)
        if of_four and len(_refusals(replies)) == 1:
            await _wait_for(replies, ALONE_SECONDS)
        refusals = _refusals(replies)
        reasons = [_reason(reply) for reply in replies if _failed(reply)]
        if _failed(work):
            reasons.append(_reason(work))
        for reason in reasons:
            self._naming.hear(reason)
        self.exclude()
        if not of_four or len(refusals) > 1:
            return (*refusals, *reasons)[0]
        # One that lies must not end a run by a word: to refuse alone is to fail the others.
        alone = LoneRefusalError(refusals[0]) if refusals else None
        culprit = alone or self._named_by_two(replies)
        self._loss.failed(culprit)
        return culprit or reasons[0]

    def _named_by_two(self, replies: Sequence[asyncio.Future[R]]) -> PeerError | None:
        """Return a failure of the node that two others name; a single one may make it up."""
        named: dict[str, list[PeerError]] = {}
        for author, reply in zip(self._clients, replies, strict=True):
            reason = _reason(reply) if _failed(reply) else None
            # Where pieces do not fit, one of two lies, and nobody is named by a word.
            if not isinstance(reason, PeerError) or isinstance(reason, MismatchError):
                continue
            if reason.peer != author.name:
                named.setdefault(reason.peer, []).append(reason)
        most = max(named.values(), key=len, default=[])
        return most[0] if len(most) > 1 else None

    def exclude(self) -> None:
        """Go on without a node that is proven to cheat."""
        if self._naming.named is not None:
            self._loss.exclude(self._naming.named)

    async def _look_around(self) -> None:
        for client in self._loss.members:
            if client.silent_for() > self._loss.patience:
                self._loss.fell_silent(client)
                client.give_up()
                what = f"has not answered for {self._loss.patience:g} s"
                raise PeerTimeoutError(client.name, what)
            await client.ping()

    def blame(self, trouble: MpcError | None, /) -> MpcError:
        """Say who it was, as far as one can tell.

        On a busy machine every node is silent for a moment, so that says least. May be called from
        any thread.
        """
        # From what is certain to what is likely: no link, then proof, then silence, then what was
        # said last.
        gone = next((client for client in self._loss.awaited if not client.connected), None)
        if gone is not None:
            return PeerTimeoutError(gone.name, "cannot be reached, and time is up; start it")
        if self._naming.words and not self._loss.is_proven:
            return PeerTimeoutError("the nodes", f"{self._naming.words}, and time is up")
        silent = self._most_silent()
        if silent is not None:
            what = f"has not answered for {silent.silent_for():.1f} s, and time is up"
            return PeerTimeoutError(silent.name, what)
        if isinstance(self._loss.failing, LoneRefusalError):
            trouble = self._loss.failing
        if isinstance(trouble, PeerError):
            return PeerTimeoutError(trouble.peer, f"{trouble.what}, and time is up")
        return PeerTimeoutError("the nodes", "did not finish in time")

    def _most_silent(self) -> NodeClient | None:
        """Return the node that does not answer while the others, asked at the same times, do."""
        silent, other = sorted(self._loss.members, key=lambda each: -each.silent_for())[:2]
        longer = silent.silent_for() - other.silent_for()
        return silent if longer > PING_SECONDS / 2 and silent.silent_for() > PING_SECONDS else None


def _reason(future: asyncio.Future[Any]) -> BaseException:
    # Whoever waited for it before may have been cancelled, and that is no reason to cancel us.
    error = None if future.cancelled() else future.exception()
    return error or MpcError("nobody waited for the end of the evaluation")


LAST_SECONDS = 1.0
"""So long the answer of the last of four nodes is waited for."""


async def enough_of(asking: Sequence[asyncio.Future[T]], /, *, within: float) -> list[T]:
    """Return what all nodes answer; of four, what three do, since one may lie or be silent."""
    least, loop = max(len(asking) - 1, min(CLUSTER_SIZES)), asyncio.get_running_loop()
    waiting, until = set(asking), loop.time() + within
    try:
        while waiting:
            is_enough = sum(each.done() and not each.exception() for each in asking) >= least
            if sum(map(_failed, asking)) > len(asking) - least:
                break
            left = max(until - loop.time(), 0.0)
            done, waiting = await asyncio.wait(
                waiting,
                timeout=min(LAST_SECONDS, left) if is_enough else left,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                break
    finally:
        for each in waiting:
            each.cancel()
        found = await asyncio.gather(*asking, return_exceptions=True)
    answers = [each for each in found if not isinstance(each, BaseException)]
    if len(answers) < least:
        trouble = [each for each in found if isinstance(each, TacitError)]
        raise trouble[0] if trouble else PeerTimeoutError("the nodes", "did not answer in time")
    return answers


async def _wait_for(replies: Iterable[asyncio.Future[Any]], seconds: float) -> None:
    missing = [reply for reply in replies if not reply.done()]
    if missing:
        await asyncio.wait(missing, timeout=seconds)


def _refusals(replies: Iterable[asyncio.Future[Any]]) -> list[RefusedError]:
    reasons = [_reason(reply) for reply in replies if _failed(reply)]
    return [reason for reason in reasons if isinstance(reason, RefusedError)]


def _failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
