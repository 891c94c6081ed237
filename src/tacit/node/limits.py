"""Limit what platforms take of a node: agreements, bytes on the disk, memory.

A platform can sign agreements with participants that it invents, so nobody's signature limits how
much it has a node keep. Each platform has its own quota, so one cannot take the room of another.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tacit.agreement.sizes import search_bytes, weights_bytes
from tacit.errors import AbortError
from tacit.files import replace_secret
from tacit.identity.config import NodeConfig
from tacit.node.agreement_state import AgreementState
from tacit.node.policy import refuse
from tacit.records.messages import RefusalKind

DAY = 86400.0
MEGABYTE = 1_000_000
REMOVED = ".removed"
"""The ending of a folder that is being removed, so that half of it is never read again."""
EXPIRED = "expired"
"""The folder of tombstones: an empty file per removed agreement, so that none counts anew."""
LOOK_AGAIN_SECONDS = 1.0


class Quota:
    """The agreements and bytes that each platform may have a node keep on its disk."""

    def __init__(
        self,
        config: NodeConfig,
        agreement_states: Callable[[], Iterable[AgreementState]],
        /,
        *,
        are_one_platform: Callable[[str, str], bool] = str.__eq__,
    ) -> None:
        self._most_agreements = config.most_agreements
        self._most_bytes = config.most_megabytes * MEGABYTE
        self._most_agreed_bytes = config.most_agreed_megabytes * MEGABYTE
        self._keep_seconds = config.keep_days * DAY
        self._agreement_states, self._are_one = agreement_states, are_one_platform
        self._seen: dict[str, tuple[float, int]] = {}

    def _of(self, platform: str) -> list[AgreementState]:
        return [
            each
            for each in self._agreement_states()
            if self._are_one(each.agreement.platform, platform)
        ]

    def used(self, platform: str, /) -> int:
        # Summing up all agreements for every request would take longer than many requests do.
        now = time.monotonic()
        at, seen = self._seen.get(platform, (-LOOK_AGAIN_SECONDS, 0))
        if now - at >= LOOK_AGAIN_SECONDS:
            seen = sum(each.store.size for each in self._of(platform))
            self._seen[platform] = (now, seen)
        return seen

    def is_full(self, platform: str, /) -> bool:
        return self.used(platform) >= self._most_bytes

    def check_count(self, size: int, platform: str, /) -> None:
        """Refuse one more agreement than the platform may have, by its length alone."""
        kept = self._of(platform)
        if sum(each.store.agreement_bytes for each in kept) + size > self._most_agreed_bytes:
            raise refuse(
                f"agreements of {self._most_agreed_bytes // MEGABYTE} MB are kept for this "
                "platform already; wait until some have expired, or ask the operator of the node",
                kind=RefusalKind.FULL,
            )
        if len(kept) >= self._most_agreements:
            raise refuse(
                f"{self._most_agreements} agreements are kept for this platform already; wait "
                "until some have expired, or ask the operator of the node",
                kind=RefusalKind.FULL,
            )
        self.check_room(platform)

    def check_room(self, platform: str, /, more: int = 0) -> None:
        used = self.used(platform) + more
        if used > self._most_bytes or self.is_full(platform):
            raise refuse(
                f"{self._most_bytes // MEGABYTE} MB are kept for this platform already; wait until "
                "some agreements have expired, or ask the operator of the node",
                kind=RefusalKind.FULL,
            )
        # Counted until the next look at the disk: many requests at once would all fit otherwise.
        self._seen[platform] = (self._seen[platform][0], used)

    def outlived(self, now: float, /) -> list[AgreementState]:
        """The agreements that expired so long ago that they are removed."""
        return [
            each
            for each in self._agreement_states()
            if now >= each.agreement.limits.expires + self._keep_seconds
        ]


def tombstone(data: Path, agreement: bytes, /) -> None:
    """Remember that an agreement was here, before anything of it is removed.

    A clock that ran ahead may be set back, and the same agreement would be good again.
    """
    (data / EXPIRED).mkdir(exist_ok=True, mode=0o700)
    replace_secret(data / EXPIRED / agreement.hex(), b"")


def has_tombstone(data: Path, agreement: bytes, /) -> bool:
    return (data / EXPIRED / agreement.hex()).exists()


def remove_folder(folder: Path, /) -> None:
    """Remove an agreement's folder; after a crash `remove_leftovers` does the rest."""
    going = folder.with_name(folder.name + REMOVED)
    folder.rename(going)
    shutil.rmtree(going, ignore_errors=True)


def remove_leftovers(data: Path, /) -> None:
    """Remove the folders that were being removed when the node was killed."""
    for path in data.glob(f"*{REMOVED}"):
        shutil.rmtree(path, ignore_errors=True)


WAIT_SECONDS = 1.0


class MemoryBudget:
    """The memory of computations that run at the same time, per platform.

    One computation alone always fits: what an agreement needs at most is estimated when it is
    taken, and refused above the same limit (`tacit.agreement.sizes`).
    """

    def __init__(self, name: str, /, *, megabytes: int) -> None:
        self._name, self._most = name, megabytes * MEGABYTE
        self._used: Counter[str] = Counter()
        self._freed = asyncio.Condition()

    def _fits(self, platform: str, size: int) -> bool:
        return not self._used[platform] or self._used[platform] + size <= self._most

    @asynccontextmanager
    async def reserve(self, platform: str, size: int, /) -> AsyncIterator[None]:
        """Use so many bytes, as soon as there is room for them."""
        # Nodes may begin computations in different orders. If each waited for the memory that
        # another holds, all would wait for ever: so after a moment the computation is given up,
        # and the coordinator tries it again.
        async with self._freed:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._freed.wait_for(lambda: self._fits(platform, size))
            except TimeoutError:
                what = "works on other large computations of this platform; try again"
                raise AbortError(self._name, what) from None
            self._used[platform] += size
        try:
            yield
        finally:
            self._used[platform] -= size
            async with self._freed:
                self._freed.notify_all()


KEPT_BYTES = 64 << 20
"""Others are opened again from their boxes when they are needed."""


class KeptSearches:
    """The followed searches of each platform that were used last.

    The others are followed again from their answers when they are needed.
    """

    def __init__(self, *, megabytes: int) -> None:
        self._most = megabytes * MEGABYTE
        self._used: dict[str, OrderedDict[bytes, AgreementState]] = {}

    @contextmanager
    def used(self, state: AgreementState, platform: str, /) -> Iterator[None]:
        """Use a search in this block; afterwards those not used for longest are freed."""
        try:
            yield
        finally:
            if state.derivation is not None:
                used = self._used.setdefault(platform, OrderedDict())
                used[state.hash] = state
                used.move_to_end(state.hash)
                self._make_room(used)

    def _make_room(self, used: OrderedDict[bytes, AgreementState]) -> None:
        for name in [name for name, each in used.items() if each.ended]:
            _forget(used.pop(name))
        total = sum(search_bytes(each.agreement) for each in used.values())
        while total > self._most and len(used) > 1:
            _, oldest = used.popitem(last=False)
            total -= search_bytes(oldest.agreement)
            _forget(oldest)


def _forget(state: AgreementState) -> None:
    if state.derivation is not None:
        state.derivation.forget()


class KeptWeights:
    """The agreements whose opened shares are in memory, the one used last at the end."""

    def __init__(self) -> None:
        self._used: OrderedDict[bytes, AgreementState] = OrderedDict()

    def use(self, state: AgreementState, /) -> None:
        """Use an agreement's shares now; those not used for longest are freed."""
        self._used[state.hash] = state
        self._used.move_to_end(state.hash)
        total = sum(weights_bytes(each.agreement) for each in self._used.values())
        while total > KEPT_BYTES and len(self._used) > 1:
            _, oldest = self._used.popitem(last=False)
            oldest.inputs.drop_weights()
            total -= weights_bytes(oldest.agreement)

    def forget(self, agreement: bytes, /) -> None:
        self._used.pop(agreement, None)
