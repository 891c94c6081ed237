"""The series that a node has taken runs of: what was signed, and which runs there were.

::

    series/HASH/series.json   the series, canonical
    series/HASH/signatures    of all participants
    series/HASH/runs.jsonl    which runs were taken, and when
    series/HASH/book          shares of everybody's steps, where balances are kept
    series/HASH/continued     the series that has taken the book over; this one has no more runs

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
    check_series,
    check_series_signed,
    check_still_runs,
    check_within,
    objection_to_run,
    read_series,
    series_hash,
)
from tacit.engine.wire.replies import RefusalKind
from tacit.errors import FileError
from tacit.files import remove_drafts, replace_secret
from tacit.mpc.equity import StepBook, empty_book

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
        place = self._place(named.series)
        if (place / "series.json").exists():
            signatures = msgspec.msgpack.decode((place / "signatures").read_bytes())
            carried = SignedSeries((place / "series.json").read_bytes(), signatures)
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
        self._check_not_continued(named.series)
        record = RunRecord(place / "runs.jsonl")
        new = TakenRun(named.number, agreement_hash(agreement).hex(), now)
        why = objection_to_run(record.runs(), new, runs_per_day=series.limits.runs_per_day)
        if why is not None:
            raise refuse(why)
        if named.series not in self._expires:
            self._check_room(series)
            book = self._taken_over(series, named.number)
            place.mkdir(exist_ok=True, mode=0o700)
            replace_secret(place / "signatures", msgspec.msgpack.encode(dict(carried.signatures)))
            if book is not None:
                self._continue(series, book, agreement)
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

    def _taken_over(self, series: Series, number: int) -> StepBook | None:
        """The book that a series continues with; refused unless all whose it is have signed.

        Nor while a run of the earlier series is frozen or counted: it would be in that book alone.
        """
        if not series.continues:
            return None
        place = self._place(series.continues)
        if series.continues not in self._books:
            raise refuse("the series continues one whose balances are not here")
        before = read_series((place / "series.json").read_bytes())
        signed = {each.name: each.signing_key for each in series.participants}
        for each in before.participants:
            if signed.get(each.name) != each.signing_key:
                raise refuse(
                    f"the series continues one of {each.name!r}, who has not signed it with the "
                    "same key; name everybody, also those who take no part any more"
                )
        if len(before.nodes) != len(series.nodes):
            raise refuse("balances stay on the same nodes; take as many nodes as before")
        other = place / "continued"
        if other.exists() and other.read_text() != series_hash(series):
            raise refuse("another series has taken over these balances already; take that")
        kept = self._books[series.continues]
        if kept.turn.locked():
            raise refuse("a run of the series that this one continues is at work; ask again later")
        if number <= kept.book.frozen:
            raise refuse(
                f"number {number} is used: run {kept.book.frozen} of the series that this one "
                "continues was frozen; take a later number"
            )
        return kept.book

    def _continue(self, series: Series, book: StepBook, agreement: Agreement) -> None:
        """Take a book over; from now on the earlier series has no runs."""
        self._books[series.continues].check_head(
            "" if agreement.equity is None else agreement.equity.head
        )
        name = series_hash(series)
        replace_secret(self._place(series.continues) / "continued", name.encode())
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
