"""A node takes the book of a series that other nodes kept: what they agree on, or nothing.

The boxes travel through the platform, which can leave some out, and no more. They are opened with
the key that the node drew for the first run of the series here.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from tacit.engine.agreement.terms import Agreement
from tacit.engine.node.state.equity.moved_boxes import open_part
from tacit.engine.node.state.own_keys import OwnKeys
from tacit.engine.node.state.policy import refuse
from tacit.engine.series import (
    Series,
    SignedSeries,
    check_continues,
    check_series_signed,
    moves,
    read_series,
    series_hash,
)
from tacit.engine.wire.messages import Agree
from tacit.engine.wire.replies import RefusalKind
from tacit.errors import AbortError, SealError
from tacit.mpc.equity import BookPart, StepBook, book_taken


class SeriesHere(Protocol):
    """What it needs of the series that the node knows."""

    def knows(self, name: str, /) -> bool:
        """Whether runs of a series were taken here: then its book is here, too."""
        ...

    def signed(self, name: str, /) -> SignedSeries | None:
        """A series that was taken here, as it was signed."""
        ...


def moved_book(
    kept: SeriesHere, keys: OwnKeys, agreement: Agreement, carried: SignedSeries, request: Agree, /
) -> StepBook | None:
    """The book that comes from other nodes; none where it is here, or begins here."""
    series = read_series(carried.data)
    if not series.continues or kept.knows(series_hash(series)):
        return None
    before = _earlier(kept, series, request)
    check_continues(before, series)
    if not moves(before, series):
        return None
    if not request.books:
        raise refuse(
            "the balances that this series continues with are at other nodes; show what they give",
            kind=RefusalKind.BOOK,
        )
    key, me = keys.offered_for(agreement)
    signers = [each.signing_key for each in before.nodes]
    parts: dict[int, BookPart] = {}
    trouble = ""
    for giver, box in sorted(request.books.items()):
        try:
            parts[giver] = open_part(agreement, signers, box, giver=giver, taker=me, key=key)
        except SealError as error:
            trouble = f" ({error})"
    try:
        book = book_taken(parts, me, before=len(before.nodes), nodes=len(series.nodes))
    except AbortError as error:
        raise refuse(f"the balances cannot be taken over: {error}{trouble}") from None
    if agreement.equity is None or book.head != agreement.equity.head:
        raise refuse("the balances that the earlier nodes gave are after other runs than this one")
    return book


def _earlier(kept: SeriesHere, series: Series, request: Agree) -> Series:
    """The series that is continued, as everybody in it signed it: it names who gives balances."""
    known = kept.signed(series.continues)
    if known is not None:
        return read_series(known.data)
    if not request.earlier:
        raise refuse(
            "the series continues one that is not known here; show it, signed, and its balances",
            kind=RefusalKind.BOOK,
        )
    if hashlib.sha256(request.earlier).hexdigest() != series.continues:
        raise refuse("the series continues another than the one that is shown")
    check_series_signed(SignedSeries(request.earlier, request.earlier_signatures))
    return read_series(request.earlier)
