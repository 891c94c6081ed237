"""The ledger: everything that the nodes have revealed so far, in the order in which they did."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacit.errors import FileError

Parts = list[list[tuple[int, list[bytes]]]]
"""Per node, the strands that it sent to the platform, each with its number and frames."""


class LedgerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one evaluation, or the final reveal, told."""

    objective: int
    number: int
    request: str
    """The hash of the request, as the nodes log it."""
    disclosed: list[int]
    best: int | bool | None
    parts: Parts = []


class Ledger:
    """A list of entries, appended to a file if one is given.

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
