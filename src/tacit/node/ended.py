"""Keep ended agreements on the disk alone, where their logs can be fetched until they are removed.

::

    HASH/ended    whose it is, until when, and how much room it takes

The node writes this record when everything else of the end is done: the line in the log, the
erased key, the deleted shares. At a start it reads the record in place of the agreement and its
log. Memory has a sum per platform, and the few ended agreements that somebody asked for last.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tacit.files import replace_secret
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store, Stored, decoder_of, encode_stored, folder_name

RECORD = "ended"
BLOCK = 4096
"""What the smallest file takes on most disks: a platform must not fill one with small files."""
RECENT_BYTES = 1 << 20
"""The text of the ended agreements that stay in memory for a while, but for one alone."""


class EndedRecord(Stored, frozen=True, tag="ended/1"):
    """All that a node has to know of an ended agreement before somebody asks for it."""

    agreement: bytes
    """Its hash."""
    platform: str
    expires: int
    size: int
    """Bytes on the disk, in whole blocks."""


_READ = decoder_of(EndedRecord)


def read_record(folder: Path, /) -> EndedRecord | None:
    """The record of an agreement's folder; None if it has not ended, or not entirely."""
    try:
        return _READ.decode((folder / RECORD).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None  # its end is then found in its log, and done again


def size_on_disk(folder: Path, /) -> int:
    """The bytes that a folder with all its files takes, in whole blocks."""
    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return BLOCK + sum(-(-size // BLOCK) * BLOCK for size in files)


class EndedAgreements:
    """The ended agreements of all platforms."""

    def __init__(self, data: Path, load: Callable[[Store], AgreementState], /) -> None:
        self._data, self._load = data, load
        self.counts: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """By the certificate of the platform that the agreements name."""
        self._recent: OrderedDict[bytes, AgreementState] = OrderedDict()

    def keep(self, state: AgreementState, /) -> None:
        """Write down that an agreement has ended; nothing else of its end is left to do."""
        folder, agreement = state.store.folder, state.agreement
        size = size_on_disk(folder) + BLOCK
        record = EndedRecord(state.hash, agreement.platform, agreement.limits.expires, size)
        replace_secret(folder / RECORD, encode_stored(record))
        self.count(record)

    def count(self, record: EndedRecord, /) -> None:
        self.counts[record.platform] += 1
        self.bytes[record.platform] += record.size

    def record(self, agreement: bytes, /) -> EndedRecord | None:
        return read_record(self._data / folder_name(agreement))

    def state(self, agreement: bytes, /) -> AgreementState:
        """The state of an ended agreement, read from the disk; call it in a thread."""
        state = self._recent.pop(agreement, None)
        if state is None:
            state = self._load(Store(self._data / folder_name(agreement)))
        self._recent[agreement] = state
        total = sum(each.store.agreement_bytes for each in self._recent.values())
        while total > RECENT_BYTES and len(self._recent) > 1:
            _, oldest = self._recent.popitem(last=False)
            total -= oldest.store.agreement_bytes
        return state

    def outlived(self, expired_before: float, /) -> Iterator[EndedRecord]:
        """Those that expired before this time, by the records on the disk; call it in a thread."""
        for path in self._data.glob(f"*/{RECORD}"):
            record = read_record(path.parent)
            if record is not None and record.expires <= expired_before:
                yield record

    def forget(self, record: EndedRecord, /) -> None:
        """Count an agreement no longer, whose folder was removed."""
        self._recent.pop(record.agreement, None)
        self.counts[record.platform] -= 1
        self.bytes[record.platform] -= record.size
