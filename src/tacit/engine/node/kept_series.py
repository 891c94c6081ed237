"""The series that a node has taken runs of: what was signed, and which runs there were.

::

    series/HASH/series.json   the series, canonical
    series/HASH/signatures    of all participants
    series/HASH/runs.jsonl    which runs were taken, and when
    series/HASH/book          shares of everybody's steps, where balances are kept
    series/HASH/continued     the series that has taken the book over; this one has no more runs.
                              Where it went to other nodes, the head that it had then, too

What a series allows per day is counted here, whatever the platform says and forgets. A folder stays
for as long as the series could have runs.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tacit.engine.agreement.terms import Agreement, agreement_hash
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.node.state.policy import refuse
from tacit.engine.series import (
    DAY,
    RunRecord,
    Series,
    SignedSeries,
    TakenRun,
    check_continues,
    check_series,
    check_series_signed,
    check_still_runs,
    check_within,
    moves,
    objection_to_pace,
    objection_to_run,
    read_series,
    series_hash,
)
from tacit.engine.wire.replies import RefusalKind
from tacit.errors import FileError
from tacit.files import remove_drafts, replace_secret
from tacit.mpc.equity import StepBook, empty_book

FOLDER = "series"


def stays_here(place: Path, /) -> bool:
    """Whether a series has handed its book on to another on the same nodes, which gives it then."""
    other = place / "continued"
    return other.exists() and len(other.read_text().split()) == 1


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
        if name in self._books:
            self._books[name].left = frozenset(each.name for each in series.left)
        self._expires[name] = (series.platform, series.limits.expires)
        if series.equity is not None and name not in self._books:
            names = [each.name for each in series.participants]
            first = empty_book(self._node, len(series.nodes), names)
            try:
                self._books[name] = KeptBook(self._place(name) / "book", first)
                self._books[name].left = frozenset(each.name for each in series.left)
            except FileError as error:
                # Its runs are refused; other series are not to blame.
                print(f"{error}", file=sys.stderr, flush=True)

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

    def admit(
        self,
        agreement: Agreement,
        carried: SignedSeries,
        /,
        *,
        now: float,
        moved: StepBook | None = None,
    ) -> None:
        """Write down a run that is within its series, or refuse it: too soon, or not the next.

        `moved` is the book that other nodes gave, where the series continues one of theirs.
        """
        named = agreement.series
        assert named is not None
        series, place = read_series(carried.data), self._place(named.series)
        self._check_not_continued(named.series)
        record = RunRecord(place / "runs.jsonl")
        new = TakenRun(named.number, agreement_hash(agreement).hex(), now)
        taken = record.runs()
        if (why := objection_to_run(taken, new)) is not None:
            raise refuse(why)
        why = objection_to_pace(taken, new, runs_per_day=series.limits.runs_per_day)
        if why is not None:
            raise refuse(why, kind=RefusalKind.FULL)  # the next hour may have room for it
        if named.series not in self._expires:
            self._check_room(series)
            book = self._taken_over(series, agreement) if moved is None else moved
            place.mkdir(exist_ok=True, mode=0o700)
            replace_secret(place / "signatures", msgspec.msgpack.encode(dict(carried.signatures)))
            if book is not None:
                self._continue(series, book)
            # Last, since a folder without it does not count.
            replace_secret(place / "series.json", carried.data)
            self._hold(series)
        self._check_book(agreement)
        record.add(new)

    def _check_book(self, agreement: Agreement) -> None:
        book = self.book_of(agreement)
        if book is not None and agreement.equity is not None:
            book.check_head(agreement.equity.head)

    def book_of(self, agreement: Agreement, /) -> KeptBook | None:
        """The book of the series that a run belongs to, where balances are kept."""
        if agreement.equity is None or agreement.series is None:
            return None
        name = agreement.series.series
        if name not in self._books:
            raise refuse("the balances of this series are not here, or damaged; ask the operator")
        self._check_not_continued(name)
        return self._books[name]

    def _check_not_continued(self, name: str) -> None:
        if (self._place(name) / "continued").exists():
            raise refuse("another series has taken over the balances of this one; take that")

    def head(self, names: Sequence[str], /) -> tuple[str, int]:
        """The head of the first of these series that is known here, and its last counted run."""
        for name in names:
            if name in self._books:
                return self._books[name].book.head, self._books[name].book.last
        return "", 0

    def pending(self, name: str, /) -> str:
        """The head of a series if what is prepared here were counted; empty without that."""
        return self._books[name].book.pending if name in self._books else ""

    def knows(self, name: str, /) -> bool:
        """Whether runs of a series were taken here: then its book is here, too."""
        return name in self._expires

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

    def _taken_over(self, series: Series, agreement: Agreement) -> StepBook | None:
        """The book that a series continues with on the same nodes."""
        if not series.continues:
            return None
        if moves(self._earlier(series), series):
            raise refuse("the balances are shared anew among other nodes; show what those gave")
        self._check_between_runs(series, agreement)
        return self._books[series.continues].book

    def _earlier(self, series: Series) -> Series:
        """The series that one continues, whose book is here and who may take it over."""
        if series.continues not in self._books:
            raise refuse("the series continues one whose balances are not here")
        before = read_series(self._read(series.continues, "series.json"))
        check_continues(before, series)
        return before

    def _check_between_runs(self, series: Series, agreement: Agreement) -> None:
        """Refuse to hand a book on to two series, or amid a run, which would be in it alone."""
        assert agreement.series is not None
        assert agreement.equity is not None
        self._check_same_continues(series)
        kept, number = self._books[series.continues], agreement.series.number
        if kept.turn.locked():
            raise refuse("a run of the series that this one continues is at work; ask again later")
        if number <= kept.book.frozen:
            raise refuse(
                f"number {number} is used: run {kept.book.frozen} of the series that this one "
                "continues was frozen; take a later number"
            )
        kept.check_head(agreement.equity.head)

    def _check_same_continues(self, series: Series) -> list[str]:
        """What is written about whom the book went to, if that is this series or nobody."""
        other = self._place(series.continues) / "continued"
        written = other.read_text().split() if other.exists() else []
        if written and written[0] != series_hash(series):
            raise refuse("another series has taken over these balances already; take that")
        return written

    def _check_same_head(self, series: Series, book: StepBook, head: str) -> None:
        """Refuse to give a book after other runs than before.

        Only what is prepared here may be added: others may have counted it, and whoever asked for
        the book as it is without may not have known. The masks of both have nothing in common.
        """
        given_at = self._check_same_continues(series)[1:]
        if given_at and given_at != [head] and (given_at, head) != ([book.head], book.pending):
            raise refuse("these balances were given away as they were after other runs")

    def to_give(self, series: Series, agreement: Agreement, /) -> tuple[Series, StepBook]:
        """The book for the nodes of a series that continues one here, and that one.

        A run that is prepared here is counted if the agreement follows it: whoever counted it first
        knew that all had prepared it.
        """
        before = self._earlier(series)
        if not moves(before, series):
            raise refuse("the series stays with its nodes, which have the balances already")
        self._check_between_runs(series, agreement)
        assert agreement.equity is not None
        head, book = agreement.equity.head, self._books[series.continues].book
        self._check_same_head(series, book, head)
        if book.head != head and book.prepared is not None:
            book = book.count(book.prepared.number, book.prepared.attempt)
        return before, book

    def give(self, series: Series, agreement: Agreement, /) -> None:
        """From now on the earlier series has no runs, and the book goes to nobody else.

        What goes to the other nodes is made before, since whoever cannot give must go on. Meanwhile
        runs may have come, so everything is checked again.
        """
        _, book = self.to_give(series, agreement)
        written = f"{series_hash(series)} {book.head}".encode()
        replace_secret(self._place(series.continues) / "continued", written)

    def _continue(self, series: Series, book: StepBook) -> None:
        """Take a book over; from now on the earlier series has no runs."""
        name, earlier = series_hash(series), self._place(series.continues) / "continued"
        if series.continues in self._books:
            self._check_same_continues(series)
            if not earlier.exists():
                replace_secret(earlier, name.encode())
        self._books[name] = KeptBook(self._place(name) / "book", book)
        self._books[name].write()

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
