"""Keep the series that a node has taken runs of: what was signed, which runs there were, balances.

::

    series/HASH/series.json   the series, canonical
    series/HASH/signatures    of all participants
    series/HASH/runs.jsonl    which runs were taken, and when
    series/HASH/book          shares of everybody's steps, where balances are kept

The node itself counts what a series allows per day, since a platform may forget runs on purpose. A
folder stays for as long as the series could have runs. Each file is replaced as a whole.

The book has shares of steps. They stay from run to run, so no agreement's key encrypts them: the
disks of two nodes together give away balances, one alone gives away nothing.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec

from tacit.agreement import (
    DAY,
    RunRecord,
    Series,
    SignedSeries,
    TakenRun,
    check_series,
    check_series_signed,
    check_still_runs,
    check_within,
    objection_to_pace,
    objection_to_run,
    read_series,
    series_hash,
)
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.equity import StepBook, empty_book
from tacit.errors import FileError
from tacit.files import remove_drafts, replace_secret
from tacit.node.own_log import say
from tacit.node.policy import refuse
from tacit.node.store import Stored, decoder_of, encode_stored
from tacit.records.messages import RefusalKind


class StoredBook(Stored, frozen=True, tag="book/1"):
    """The book of a series, with its version."""

    book: StepBook


_READ_BOOK = decoder_of(StoredBook)


class KeptBook:
    """The book of one series at one node."""

    def __init__(self, path: Path, first: StepBook, /) -> None:
        self._path = path
        self.turn = asyncio.Lock()
        """Held while inputs are frozen or a run is counted.

        Otherwise a run could be frozen on the balances before another that is just being counted.
        """
        self.book = self._read() if path.exists() else first

    def _read(self) -> StepBook:
        try:
            return _READ_BOOK.decode(self._path.read_bytes()).book
        except msgspec.DecodeError as error:
            remedy = "restore it as it was after the last run, or sign a new series"
            raise FileError(self._path, None, f"was changed ({error})", remedy) from None

    def keep(self, book: StepBook, /) -> None:
        """Write the book if it has changed; it survives a power cut."""
        if book is not self.book:
            replace_secret(self._path, encode_stored(StoredBook(book)))
            self.book = book

    def check_head(self, head: str, /) -> None:
        """Refuse a run that follows others than were counted here, or prepared last."""
        if head not in (self.book.head, self.book.pending):
            raise refuse(
                "the run follows other runs than were counted here: the chain of balances has "
                f"another head ({self.book.head[:16]}..., the agreement names {head[:16]}...); "
                "draft it again, or find out whose disk was set back"
            )


FOLDER = "series"


class KeptSeries:
    """The folder of all series."""

    def __init__(self, data: Path, /, *, most: int, node: int) -> None:
        self._folder, self._most, self._node = data / FOLDER, most, node
        self._folder.mkdir(exist_ok=True, mode=0o700)
        remove_drafts(self._folder)
        self._expires: dict[str, tuple[str, int]] = {}
        self._books: dict[str, KeptBook] = {}
        for path in self._folder.glob("*/series.json"):
            self._hold(read_series(path.read_bytes()))

    def _hold(self, series: Series) -> None:
        name = series_hash(series)
        self._expires[name] = (series.platform, series.limits.expires)
        if series.equity is not None and name not in self._books:
            names = [each.name for each in series.participants]
            first = empty_book(self._node, len(series.nodes), names)
            try:
                self._books[name] = KeptBook(self._place(name) / "book", first)
            except FileError as error:
                # Its runs are refused; other series are not to blame.
                say(str(error))

    def _place(self, name: str) -> Path:
        return self._folder / name

    def examined(
        self, agreement: Agreement, carried: SignedSeries | None, /, *, now: float
    ) -> SignedSeries | None:
        """The series that a run names, signed by all, if the run is within it; none if none.

        What is here was checked when it came. It takes time, so it is done in a thread.
        """
        named = agreement.series
        if named is None:
            return None
        known = self.signed(named.series)
        if known is not None:
            carried = known
        elif carried is None:
            raise refuse("the agreement names a series that is not known here; show it, signed")
        else:
            check_series_signed(carried)
        series = read_series(carried.data)
        if series_hash(series) != named.series:
            raise refuse("the agreement names another series than the one that is shown")
        check_series(series)
        check_still_runs(series, now)
        check_within(series, agreement, now=now)
        return carried

    def admit(self, agreement: Agreement, carried: SignedSeries, /, *, now: float) -> None:
        """Write down a run that is within its series, or refuse it: too soon, or not the next."""
        named = agreement.series
        assert named is not None
        series, place = read_series(carried.data), self._place(named.series)
        record = RunRecord(place / "runs.jsonl")
        new = TakenRun(named.number, agreement_hash(agreement).hex(), now)
        taken = record.runs()
        if (why := objection_to_run(taken, new)) is not None:
            raise refuse(why)
        why = objection_to_pace(taken, new, runs_per_day=series.limits.runs_per_day)
        if why is not None:
            raise refuse(why, kind=RefusalKind.PACE)
        if named.series not in self._expires:
            self._check_room(series)
            place.mkdir(exist_ok=True, mode=0o700)
            replace_secret(place / "signatures", msgspec.msgpack.encode(dict(carried.signatures)))
            # Last, since a folder without it does not count.
            replace_secret(place / "series.json", carried.data)
            self._hold(series)
        book = self.book_of(agreement)
        if book is not None and agreement.equity is not None:
            book.check_head(agreement.equity.head)
        # Last, after all refusals: a run that was refused must not use up its number and its pace.
        record.add(new)

    def book_of(self, agreement: Agreement, /) -> KeptBook | None:
        if agreement.equity is None or agreement.series is None:
            return None
        name = agreement.series.series
        if name not in self._books:
            raise refuse("the balances of this series are not here, or damaged; ask the operator")
        return self._books[name]

    def head(self, name: str | None, /) -> tuple[str, int]:
        """The head of a series and its last counted run; empty if it has no balances here."""
        if name not in self._books:
            return "", 0
        return self._books[name].book.head, self._books[name].book.last

    def signed(self, name: str, /) -> SignedSeries | None:
        """A series that was taken here, as it was signed."""
        if name not in self._expires:
            return None
        signatures = msgspec.msgpack.decode(self._read(name, "signatures"))
        return SignedSeries(self._read(name, "series.json"), signatures)

    def _read(self, name: str, file: str) -> bytes:
        try:
            return (self._place(name) / file).read_bytes()
        except FileNotFoundError:
            raise refuse(
                f"{FOLDER}/{name}/{file} was deleted here; the operator has to restore that folder"
            ) from None

    def _check_room(self, series: Series) -> None:
        there = sum(platform == series.platform for platform, _ in self._expires.values())
        if there >= self._most:
            raise refuse(
                f"{there} series are kept for this platform already; wait until some have expired, "
                "or ask the operator of the node",
                kind=RefusalKind.FULL,
            )

    def lapse(self, now: float, /) -> None:
        """Remove what expired so long ago that no clock brings it back."""
        for name, (_, expires) in list(self._expires.items()):
            if now >= expires + 30 * DAY:
                del self._expires[name]
                self._books.pop(name, None)
                shutil.rmtree(self._place(name), ignore_errors=True)
