"""The ledger: everything that the nodes have revealed so far, in the order in which they did."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tacit.errors import FileError, LogError
from tacit.files import read_bytes, writing
from tacit.records.disclosed import Disclosed
from tacit.wire.attempt import decode_attempt, encode_attempt

_READ = msgspec.json.Decoder(Disclosed, dec_hook=decode_attempt)
_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=encode_attempt)
_MAKE_ROOM = "make room, and start again"


def decode_entry(line: bytes, /) -> Disclosed:
    """An entry from its line; raises msgspec's errors."""
    return _READ.decode(line)


def encode_entry(entry: Disclosed, /) -> bytes:
    """The line of an entry."""
    return _ENCODER.encode(entry) + b"\n"


class Ledger:
    """A list of entries, appended to a file if one is given. `FileLedger` keeps none in memory."""

    def __init__(self, path: Path | None = None, /) -> None:
        self.entries: list[Disclosed] = []
        self._path = path
        if path is not None:
            with writing(path):
                path.write_bytes(b"")

    def add(self, entry: Disclosed, /) -> None:
        """Write an entry."""
        self.entries.append(entry)
        if self._path is not None:
            with writing(self._path, remedy=_MAKE_ROOM), self._path.open("ab") as file:
                file.write(encode_entry(entry))


class FileLedger(Ledger):
    """A ledger in a file alone, which goes on where it ended.

    With `sync` each entry is on the disk before anything is made of it: where nodes repeat the last
    evaluation only, no answer may be lost, not even in a power cut.
    """

    def __init__(self, path: Path, /, *, sync: bool = False) -> None:
        super().__init__()
        self._sync = sync
        with writing(path):
            self._file = path.open("ab")
            # Half a line is what a crash leaves; its evaluation is asked for again.
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)

    def add(self, entry: Disclosed, /) -> None:
        """Append an entry."""
        self._file.write(encode_entry(entry))
        self._file.flush()
        if self._sync:
            os.fsync(self._file.fileno())

    def sync(self) -> None:
        """Wait until all entries are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing more is added."""
        self._file.close()


def read_ledger(data: bytes, /) -> list[Disclosed]:
    """All entries of a ledger, or a `LogError`."""
    entries = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            entries.append(decode_entry(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LogError(
                f"line {number} is not a ledger entry ({error}); ask for the whole ledger"
            ) from None
    return entries


def load_ledger(path: Path, /) -> list[Disclosed]:
    """Read a ledger's file."""
    try:
        return read_ledger(read_bytes(path))
    except LogError as error:
        raise FileError(path, None, f"is not a ledger ({error})", "give another") from None
