"""Evaluation numbers that are set aside ahead of their use, so that a power cut repeats none.

A power cut may lose what was appended to the log last. So a lease of numbers is on the disk before
they are used: after a restart of the machine all of them count as used.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from tacit.files import replace_secret
from tacit.node.state.stored import Stored

LEASE = 64
"""How many evaluation numbers are set aside at a time."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class StoredLease(Stored, frozen=True, tag="lease/1"):
    """The numbers that are set aside, and since which start of the machine."""

    boot: str
    numbers: dict[int, int]


_READ = msgspec.msgpack.Decoder(StoredLease)


def boot_identity() -> str | None:
    """What changes when the machine restarts, where the system says it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


class NumberLease:
    """The lease of one agreement, in a file."""

    def __init__(self, path: Path, /) -> None:
        self._path, self._boot = path, boot_identity()
        self._lock = threading.Lock()
        self._lease = StoredLease(self._boot or "", {})
        if path.exists():
            self._lease = _READ.decode(path.read_bytes())
        self.lost = dict(self._lease.numbers) if self._lease.boot != self._boot else {}
        """Per objective, up to where numbers count as used after a restart of the machine."""

    def left(self, objective: int, number: int, /) -> int:
        """How many numbers after this one are already set aside."""
        if self._boot is None or self._lease.boot != self._boot:
            return -1
        return self._lease.numbers.get(objective, 0) - number

    def extend(self, objective: int, number: int, /) -> None:
        """Set this number and the next ones aside, on the disk.

        Where the system does not say whether it restarted, that is this number alone.
        """
        ahead = LEASE if self._boot is not None else 0
        # Objectives extend theirs from threads, side by side, and the file is one.
        with self._lock:
            numbers = {**self.lost, **self._lease.numbers}
            numbers[objective] = max(numbers.get(objective, 0), number + ahead)
            lease = StoredLease(self._boot or "", numbers)
            replace_secret(self._path, msgspec.msgpack.encode(lease))
            self._lease = lease
