"""A node gives the book of a series to the nodes of the one that continues it.

Everything that is asked for is signed by all participants: the series that continues this one with
its nodes, and the first run of it with the keys that those drew. Once a book is given, which is on
the disk before the first box leaves, the earlier series has no runs. Whoever asks again gets the
same pieces, for another run under other seals (docs/protocols/equity.md).
"""

from __future__ import annotations

import hashlib
import time
from typing import Protocol

from tacit.engine.agreement.check import check_agreement
from tacit.engine.agreement.size_limits import check_agreement_bytes
from tacit.engine.agreement.terms import Agreement, read_agreement
from tacit.engine.node.state.equity.moved_boxes import seal_parts
from tacit.engine.node.state.own_keys import OwnKeys
from tacit.engine.node.state.policy import check_still_valid, refuse
from tacit.engine.node.work.agreeing import REST, check_signed
from tacit.engine.node.work.equity.taking import SeriesHere
from tacit.engine.node.work.off_loop import Turns, in_thread
from tacit.engine.series import (
    Series,
    SignedSeries,
    check_series,
    check_series_signed,
    check_still_runs,
    check_within,
    read_series,
    series_hash,
)
from tacit.engine.wire.messages import GiveBook
from tacit.engine.wire.replies import BookGiven
from tacit.errors import ParameterError
from tacit.mpc import held_by
from tacit.mpc.equity import StepBook, parts_given


class SeriesGiven(SeriesHere, Protocol):
    """What it needs of the series that the node knows."""

    def to_give(self, series: Series, agreement: Agreement, /) -> tuple[Series, StepBook]:
        """The book for the nodes of a series that continues one here, and that one."""
        ...

    def give(self, series: Series, agreement: Agreement, /) -> None:
        """Write down that it goes to these, for good, unless that is refused by now."""
        ...


class GivingNode(Protocol):
    """What giving a book away needs of the node."""

    turns: Turns
    own_keys: OwnKeys

    @property
    def series(self) -> SeriesGiven:
        """The series that it knows."""
        ...

    def are_one_platform(self, one: str, other: str, /) -> bool:
        """Whether two fingerprints are of one platform, which has two while it rotates them."""
        ...


async def give_book(node: GivingNode, request: GiveBook, platform: str, /) -> BookGiven:
    """Give the balances of a series away, or what was given of them again."""
    check_agreement_bytes(len(request.agreement))
    async with node.turns.of(platform, rest=REST):
        series, agreement = await in_thread(_examined, request)
        earlier = node.series.signed(series.continues)
        known = [series.platform] if earlier is None else [read_series(earlier.data).platform]
        if not any(node.are_one_platform(each, platform) for each in [*known, series.platform]):
            raise refuse("the series is with another platform than the one that asks")
        before, book = node.series.to_give(series, agreement)
        boxes = await in_thread(_boxes, node.own_keys, before, book, series, agreement)
        node.series.give(series, agreement)
    return BookGiven(id=request.id, boxes=boxes)


def _examined(request: GiveBook) -> tuple[Series, Agreement]:
    """The series and its run, if both make sense and all have signed them."""
    check_signed(request.agreement, request.signatures)
    check_series_signed(SignedSeries(request.series, request.series_signatures))
    series, agreement, now = (
        read_series(request.series),
        read_agreement(request.agreement),
        time.time(),
    )
    check_series(series)
    check_still_runs(series, now)
    check_agreement(agreement)
    check_still_valid(agreement, now)
    check_within(series, agreement, now=now)
    return series, agreement


def _boxes(
    keys: OwnKeys, before: Series, book: StepBook, series: Series, agreement: Agreement
) -> list[bytes]:
    number, key = keys.named_in([each.signing_key for each in before.nodes])
    if book.steps and book.components != held_by(number, len(before.nodes)):
        raise refuse("the book here is of another node; ask the operator")
    bound = hashlib.sha256(bytes.fromhex(series_hash(series) + book.head)).digest()
    signed = {each.name for each in series.participants}
    try:
        parts = parts_given(book, participants=signed, nodes=len(series.nodes), bound=bound)
    except ParameterError as error:
        raise refuse(str(error)) from None
    return seal_parts(agreement, parts, giver=number, key=key)
