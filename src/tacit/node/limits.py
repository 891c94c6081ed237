"""Limit what platforms take of a node: agreements, bytes on the disk, memory.

A platform can sign agreements with participants that it invents, so nobody's signature limits how
much it has a node keep. Each platform has its own quota, so one cannot take the room of another.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

from tacit.agreement.sizes import search_bytes, weights_bytes
from tacit.agreement.terms import Agreement, read_agreement
from tacit.errors import AbortError, AgreementError, RefusedError
from tacit.files import replace_secret
from tacit.identity.config import NodeConfig
from tacit.node.admission import Parties
from tacit.node.agreement_state import AgreementState
from tacit.node.ended import RECORD, EndedAgreements, read_record
from tacit.node.keys import SEALING_KEYS, StoredSealingKey, stored_keys
from tacit.node.policy import refuse
from tacit.node.store import Store
from tacit.records.messages import RefusalKind

MEGABYTE = 1_000_000
REMOVED = ".removed"
"""The ending of a folder that is being removed, so that half of it is never read again."""
AGREEMENT = "agreement.json"
EXPIRED = "expired"
"""The folder of tombstones: an empty file per removed agreement, so that none counts anew."""
LOOK_AGAIN_SECONDS = 1.0
WARN_PART = 0.8
"""When so much of a platform's room is taken, there is still time to act."""
DRAFTED_PART = 0.9
"""So much of the room on the disk is given to drafts; what is there already grows into the rest."""


class KeptAgreement(NamedTuple):
    """What counts of an agreement that has not ended."""

    platform: str
    text: int
    """Bytes of its canonical form."""
    size: int
    """Bytes on the disk, or the room that is kept for it if that is more."""


class RoomUsed(NamedTuple):
    """What is kept for one platform, and how much of each may be."""

    drafted: int
    """Agreements that are drafted: their sealing keys wait here, with room for the rest."""
    open: int
    """Agreements that have not ended."""
    ended: int
    parts: dict[str, tuple[int, int]]
    """By the setting that limits it: what is taken, and what may be."""

    def used(self) -> dict[str, float]:
        """By the setting that limits it, which part is taken."""
        return {name: taken / most if most else 1.0 for name, (taken, most) in self.parts.items()}

    @property
    def scarcest(self) -> tuple[str, float]:
        """The setting of which most is used up, and which part of it that is."""
        used = self.used()
        name = max(used, key=lambda each: used[each])
        return name, used[name]

    @property
    def is_little(self) -> bool:
        """Whether so much is taken that somebody should act."""
        return self.scarcest[1] >= WARN_PART


class Quota:
    """The agreements and bytes that each platform may have a node keep.

    Agreements that are drafted or have not ended count by their number, their text and their bytes.
    An ended one counts by its bytes alone, which have a limit of their own: so the runs of a day
    are limited by the disk, and not by how many were made in the last month. A node asks for room
    when it offers a sealing key, before anybody signs, and keeps it for the agreement to come.
    """

    def __init__(
        self,
        config: NodeConfig,
        kept: Callable[[], Iterable[KeptAgreement]],
        /,
        *,
        waiting: Callable[[], Iterable[StoredSealingKey]],
        ended: EndedAgreements,
        are_one_platform: Callable[[str, str], bool] = str.__eq__,
    ) -> None:
        self._most_agreements = config.most_agreements
        self._most_bytes = config.most_megabytes * MEGABYTE
        self._most_agreed_bytes = config.most_agreed_megabytes * MEGABYTE
        self._most_ended_bytes = config.most_ended_megabytes * MEGABYTE
        self._kept, self._are_one = kept, are_one_platform
        self._waiting, self._ended = waiting, ended
        self._looked: dict[str, tuple[float, RoomUsed]] = {}
        self._since: Counter[str] = Counter()
        """Per platform, the bytes of what was let in since the node has looked."""

    def _drafted(self, platform: str, besides: str) -> list[StoredSealingKey]:
        return [
            each
            for each in self._waiting()
            if each.nonce != besides and self._are_one(each.platform, platform)
        ]

    def _ended_of(self, platform: str, counted: Counter[str]) -> int:
        return sum(size for name, size in counted.items() if self._are_one(name, platform))

    def room(self, platform: str, /, *, besides: str = "") -> RoomUsed:
        """What is taken of a platform's room, but for the draft with the nonce `besides`."""
        kept = [each for each in self._kept() if self._are_one(each.platform, platform)]
        drafted = self._drafted(platform, besides)
        text = sum(each.text for each in kept) + sum(each.text for each in drafted)
        size = sum(each.size for each in kept) + sum(each.text + each.rows for each in drafted)
        parts = {
            "most_agreements": (len(kept) + len(drafted), self._most_agreements),
            "most_agreed_megabytes": (text, self._most_agreed_bytes),
            "most_megabytes": (size, self._most_bytes),
            "most_ended_megabytes": (
                self._ended_of(platform, self._ended.bytes),
                self._most_ended_bytes,
            ),
        }
        ended = self._ended_of(platform, self._ended.counts)
        return RoomUsed(len(drafted), len(kept), ended, parts)

    def check_offer(self, platform: str, nonce: str, /, *, text: int, rows: int) -> None:
        """Refuse to keep room for one more agreement than the platform may have."""
        parts = self.room(platform, besides=nonce).parts
        drafted, most = parts["most_agreements"]
        if drafted >= most:
            raise _full(
                f"{most} agreements of this platform are drafted or have not ended, as many as "
                "most_agreements allows; end or cancel runs"
            )
        size, most = parts["most_megabytes"]
        if size + text + rows > DRAFTED_PART * most:
            raise _full_disk("most_megabytes", most)
        _check(parts, "most_agreed_megabytes", text)
        _check(parts, "most_ended_megabytes", 0)

    def check_agreement(self, size: int, platform: str, nonce: str, /) -> None:
        """Refuse an agreement by its length alone, for which no room was kept with its draft.

        Nor does it need a place: its sealing key has had one since it was drafted.
        """
        parts = self.room(platform, besides=nonce).parts
        for name in ("most_agreed_megabytes", "most_megabytes"):
            _check(parts, name, size)

    def seen(self, platform: str, /) -> RoomUsed:
        """The same as `room` as of a moment ago, for what is asked often."""
        now = time.monotonic()
        at, seen = self._looked.get(platform, (-LOOK_AGAIN_SECONDS, None))
        if seen is None or now - at >= LOOK_AGAIN_SECONDS:
            seen = self.room(platform)
            self._looked[platform] = now, seen
            self._since[platform] = 0
        return seen

    def used(self, platform: str, /) -> int:
        # Summing up all agreements for every request would take longer than many requests do.
        taken, _ = self.seen(platform).parts["most_megabytes"]
        return taken + self._since[platform]

    def is_full(self, platform: str, /) -> bool:
        return self.used(platform) >= self._most_bytes

    def check_room(self, platform: str, /, more: int = 0) -> None:
        """Refuse a request for which there is no room; `more` is what no room was kept for."""
        if self.is_full(platform) or self.used(platform) + more > self._most_bytes:
            raise _full_disk("most_megabytes", self._most_bytes)
        # Counted until the next look at the disk: many requests at once would all fit otherwise.
        self._since[platform] += more


def _check(parts: Mapping[str, tuple[int, int]], name: str, more: int) -> None:
    taken, most = parts[name]
    if taken >= most or taken + more > most:
        raise _full_disk(name, most)


def _full(what: str) -> RefusedError:
    return refuse(f"{what}, or ask the operator of the node", kind=RefusalKind.FULL)


def _full_disk(name: str, most: int) -> RefusedError:
    kept = {
        "most_agreed_megabytes": "of the text of agreements that have not ended",
        "most_megabytes": "of agreements that have not ended",
        "most_ended_megabytes": "of agreements that have ended",
    }
    wait = "wait until some expire" if name == "most_ended_megabytes" else "end or cancel runs"
    return _full(
        f"{most // MEGABYTE} MB are kept for this platform {kept[name]}, as much as {name} "
        f"allows; {wait}"
    )


def open_agreements(data: Path, /) -> Iterator[tuple[Path, Agreement | None]]:
    """The agreements on the disk that have not ended, by their folders; None if unreadable."""
    for folder in sorted(data.iterdir()) if data.exists() else []:
        text = folder / AGREEMENT
        if not text.exists() or read_record(folder) is not None:
            continue
        try:
            yield folder, read_agreement(text.read_bytes())
        except FileNotFoundError:
            continue  # the node has just removed it
        except (AgreementError, OSError):
            yield folder, None


def rooms_on_disk(config: NodeConfig, /) -> dict[str, RoomUsed]:
    """The room of each platform as it is on the disk; only reads, so the node may run meanwhile."""
    parties, data = Parties(config), Path(config.folder) / config.data
    waiting = [stored for _, stored in stored_keys(data / SEALING_KEYS) if stored is not None]
    kept: list[KeptAgreement] = []
    claimed: set[str] = set()
    ended = EndedAgreements(data, _is_not_read)
    for path in data.glob(f"*/{RECORD}"):
        if (record := read_record(path.parent)) is not None:
            ended.count(record)
    for folder, agreement in open_agreements(data):
        if agreement is not None:
            text = (folder / AGREEMENT).stat().st_size
            files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            size = max(files, text + weights_bytes(agreement))
            kept.append(KeptAgreement(agreement.platform, text, size))
            claimed.add(agreement.nonce)
    drafted = [each for each in waiting if each.nonce not in claimed]
    quota = Quota(
        config,
        lambda: kept,
        waiting=lambda: drafted,
        ended=ended,
        are_one_platform=parties.are_one_platform,
    )
    names = parties.platforms
    return {name: quota.room(parties.platform_certificates(name)[0]) for name in names}


def _is_not_read(store: Store) -> AgreementState:
    raise AssertionError(f"{store.folder} is only counted")


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
    """Remove the folders whose removal was begun, and then stopped by a crash or an error."""
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

    def forget(self, agreement: bytes, /) -> None:
        for used in self._used.values():
            used.pop(agreement, None)

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
