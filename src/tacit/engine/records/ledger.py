"""The ledger: everything that the nodes have revealed so far, in the order in which they did."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tacit.errors import FileError

Parts = list[list[tuple[int, list[bytes]]]]
"""Per node, the substreams that it sent to the platform, each with its number and frames."""


class LedgerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one evaluation, or the final reveal, told."""

    objective: int
    number: int
    request: str
    """The hash of the request, as the nodes log it."""
    disclosed: list[int]
    best: int | bool | None
    parts: Parts = []
    again: bool = False
    """The same answer once more, since a node failed before it had logged the first."""


class Ledger:
    """A list of entries, appended to a file if one is given. `FileLedger` keeps none in memory.

    >>> ledger = Ledger()
    >>> ledger.add(LedgerEntry(0, 1, "ab", [1, 0], None))
    >>> len(ledger.entries)
    1
    """

    def __init__(self, path: Path | None = None, /) -> None:
        self.entries: list[LedgerEntry] = []
        self._path = path
        if path is not None:
            try:
                path.write_bytes(b"")
            except OSError as error:
                what = f"cannot be written ({error.strerror})"
                raise FileError(path, None, what, "choose another place") from None

    def add(self, entry: LedgerEntry, /) -> None:
        """Write an entry."""
        self.entries.append(entry)
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(entry, order="sorted") + b"\n")


class FileLedger(Ledger):
    """A ledger in a file alone, which goes on where it ended.

    With `sync` each entry is on the disk before anything is made of it: where nodes repeat the last
    evaluation only, no answer may be lost, not even in a power cut.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> path.write_bytes(b'{"torn')
    6
    >>> for number in (1, 2):
    ...     ledger = FileLedger(path)
    ...     ledger.add(LedgerEntry(0, number, "ab", [1, 0], None))
    ...     ledger.close()
    >>> [entry.number for entry in load_ledger(path)]
    [1, 2]
    """

    def __init__(self, path: Path, /, *, sync: bool = False) -> None:
        super().__init__()
        self._sync = sync
        try:
            self._file = path.open("ab")
            # Half a line is what a crash leaves; its evaluation is asked for again.
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)
        except OSError as error:
            what = f"cannot be written ({error.strerror})"
            raise FileError(path, None, what, "choose another place") from None

    def add(self, entry: LedgerEntry, /) -> None:
        """Append an entry."""
        self._file.write(msgspec.json.encode(entry, order="sorted") + b"\n")
        self._file.flush()
        if self._sync:
            os.fsync(self._file.fileno())

    def sync(self) -> None:
        """Wait until all entries are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing more is added."""
        self._file.close()


def load_ledger(path: Path, /) -> list[LedgerEntry]:
    """Read a ledger's file.

    >>> load_ledger(Path("no-such.jsonl"))
    Traceback (most recent call last):
    tacit.errors.FileError: no-such.jsonl: cannot be read (No such file or directory); check it
    """
    try:
        lines = path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=LedgerEntry) for line in lines]
    except OSError as error:
        raise FileError(path, None, f"cannot be read ({error.strerror})", "check it") from None
    except msgspec.DecodeError as error:
        raise FileError(path, None, f"is no ledger ({error})", "give another") from None
