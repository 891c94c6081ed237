"""What a node keeps on its disk for balances: the book of a series, and weights with factors.

Each file is replaced whole, or not at all. The book has shares of steps, which stay from run to
run, so they are under no agreement's key. Whoever reads the disks of two nodes reads balances; one
alone tells nothing. Weights with factors are of one run, under its agreement's key, and go with it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from tacit.equity import RunEntry, StepBook
from tacit.errors import FileError
from tacit.files import replace_secret
from tacit.mpc import ArithmeticShare
from tacit.node.state.policy import refuse
from tacit.node.state.store import Store
from tacit.node.state.stored import Stored, StoredShare


class StoredEntry(msgspec.Struct, frozen=True, array_like=True):
    """A run as a file has it."""

    number: int
    attempt: str
    participants: tuple[str, ...]
    steps: StoredShare | None
    told: StoredShare | None
    for_all: StoredShare | None
    place: int
    agreement: str
    plan: str = ""


class StoredBook(Stored, frozen=True, tag="book/1"):
    """A book as a file has it."""

    components: tuple[int, ...]
    founders: tuple[str, ...]
    latest: StoredEntry | None
    prepared: StoredEntry | None
    head: str
    frozen: int
    voids: tuple[int, ...]
    taken: dict[str, int]
    steps: dict[str, StoredShare]
    runs: int


_READ_BOOK = msgspec.msgpack.Decoder(StoredBook)


def _stored(share: ArithmeticShare | None) -> StoredShare | None:
    return None if share is None else StoredShare.of(share)


def _read(share: StoredShare | None) -> ArithmeticShare | None:
    return None if share is None else share.read()


def _entry_to_file(entry: RunEntry | None) -> StoredEntry | None:
    if entry is None:
        return None
    shares = _stored(entry.steps), _stored(entry.told), _stored(entry.for_all)
    public = entry.number, entry.attempt, entry.participants
    return StoredEntry(*public, *shares, entry.place, entry.agreement, entry.plan)


def _entry_from_file(entry: StoredEntry | None) -> RunEntry | None:
    if entry is None:
        return None
    shares = _read(entry.steps), _read(entry.told), _read(entry.for_all)
    public = entry.number, entry.attempt, entry.participants
    return RunEntry(*public, *shares, entry.place, entry.agreement, entry.plan)


def book_to_file(book: StepBook, /) -> StoredBook:
    """A book as it is written."""
    return StoredBook(
        book.components,
        book.founders,
        _entry_to_file(book.latest),
        _entry_to_file(book.prepared),
        book.head,
        book.frozen,
        book.voids,
        dict(book.taken),
        {name: StoredShare.of(share) for name, share in book.steps.items()},
        book.runs,
    )


def book_from_file(stored: StoredBook, /) -> StepBook:
    """The book again."""
    return StepBook(
        stored.components,
        stored.founders,
        _entry_from_file(stored.latest),
        _entry_from_file(stored.prepared),
        stored.head,
        stored.frozen,
        stored.voids,
        stored.taken,
        {name: share.read() for name, share in stored.steps.items()},
        stored.runs,
    )


class KeptBook:
    """The book of one series at one node."""

    def __init__(self, path: Path, first: StepBook, /) -> None:
        self._path = path
        self.turn = asyncio.Lock()
        """Whoever freezes inputs or counts a run holds it, so that one is never amid the other."""
        self.book = self._read() if path.exists() else first

    def _read(self) -> StepBook:
        try:
            stored = _READ_BOOK.decode(self._path.read_bytes())
        except msgspec.DecodeError as error:
            remedy = "restore it as it was after the last run, or sign a new series"
            raise FileError(self._path, None, f"was changed ({error})", remedy) from None
        return book_from_file(stored)

    def keep(self, book: StepBook, /) -> None:
        """From now on it is this, also after a power cut."""
        if book is not self.book:
            replace_secret(self._path, msgspec.msgpack.encode(book_to_file(book)))
            self.book = book

    def check_head(self, head: str, /) -> None:
        """Refuse a run that follows others than were counted here, or prepared last."""
        if head not in (self.book.head, self.book.pending):
            raise refuse(
                "the run follows other runs than were counted here: the chain of balances has "
                f"another head ({self.book.head[:16]}..., the agreement names {head[:16]}...); "
                "draft it again, or find out whose disk was set back"
            )


class StoredWeighted(Stored, frozen=True, tag="weighted/1"):
    """As a file has it."""

    attempt: str
    factors: StoredShare
    weights: StoredShare


_READ_WEIGHTED = msgspec.msgpack.Decoder(StoredWeighted)


class Weighted:
    """Shares of one run's weights times their owners' factors: what is searched.

    The name of the computation that they come from is part of what all nodes must agree on before
    they compute with them.
    """

    def __init__(self, store: Store, /) -> None:
        self._store = store
        kept = self._load()
        self.attempt = "" if kept is None else kept.attempt
        """The computation that they come from; empty while there are none."""
        self._weights: ArithmeticShare | None = None

    def _load(self) -> StoredWeighted | None:
        data = self._store.load_weighted()
        return _READ_WEIGHTED.decode(data) if data else None

    def _kept(self) -> StoredWeighted:
        kept = self._load()
        if kept is None:
            raise refuse("the weights have no factors yet; have the inputs prepared first")
        return kept

    def forget(self) -> None:
        """Have none, on the disk, before others are computed."""
        if self.attempt:
            self._store.save_weighted(b"")
        self.attempt, self._weights = "", None

    def keep(self, attempt: str, factors: ArithmeticShare, weights: ArithmeticShare, /) -> None:
        """Keep what a computation gave."""
        stored = StoredWeighted(attempt, StoredShare.of(factors), StoredShare.of(weights))
        self._store.save_weighted(msgspec.msgpack.encode(stored))
        self.attempt, self._weights = attempt, weights

    def weights(self) -> ArithmeticShare:
        """Shares of what is searched; may be called in any thread."""
        kept = self._weights
        if kept is None:
            self._weights = kept = self._kept().weights.read()
        return kept

    def factors(self) -> ArithmeticShare:
        """Shares of the factor of each participant that has rows."""
        return self._kept().factors.read()

    def drop(self) -> None:
        """Keep no shares in memory; they are read again when they are needed."""
        self._weights = None
