"""Which runs of a series still go on, and which plan of a run counts where candidates are public.

A platform that is told ranks knows its candidates all along, and may end a run before it counts.
What it cannot do is to count one plan and go on searching for another, or to have more evaluated
in a run that is void.
"""

from __future__ import annotations

from tacit.engine.agreement.terms import Agreement
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.node.state.policy import refuse
from tacit.engine.node.work.session import BooksOfNode
from tacit.equity import RunEntry


def is_of(entry: RunEntry | None, agreement: Agreement, /) -> bool:
    """Whether an entry is of this run."""
    return entry is not None and entry.agreement == agreement.digest.hex()


def check_counts(agreement: Agreement, book: KeptBook, plan: str = "", /) -> None:
    """Refuse a run that is void, or follows others than were counted; or counted another plan.

    `plan` is the digest of the one that is to be counted, where the platform knows it.
    """
    assert agreement.equity is not None
    assert agreement.series is not None
    number = agreement.series.number
    latest = book.book.latest
    if latest is not None and latest.number == number:
        if not is_of(latest, agreement):
            raise refuse(f"number {number} was counted for another run; this one does not count")
        if latest.plan != plan:
            raise refuse(f"run {number} was counted with another plan; each run counts once")
        return
    if book.book.frozen != number:
        raise refuse(
            f"run {number} is void: run {book.book.frozen} was frozen after it, or this one never "
            "was; it does not count, and its plan is not opened"
        )
    if book.book.head != agreement.equity.head:
        raise refuse("other runs were counted since this one was frozen; it does not count")


def check_goes_on(books: BooksOfNode, agreement: Agreement, /) -> None:
    """Refuse to evaluate anything new in a run that is counted or void."""
    book = books.book_of(agreement)
    if book is None:
        return
    if is_of(book.book.latest, agreement):
        raise refuse("the run is counted, which was the end; nothing new is evaluated")
    check_counts(agreement, book)
