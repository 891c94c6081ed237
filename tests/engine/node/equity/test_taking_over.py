"""A series that continues another takes its book over between runs, and no number twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.engine.agreement import Agreement, canonical
from tacit.engine.agreement.terms import ParticipantTerms
from tacit.engine.node.kept_series import KeptSeries
from tacit.engine.series import Series, SignedSeries, check_continues, series_hash, who_left
from tacit.errors import AgreementError, RefusedError
from tests.engine.agreement.test_equity import RULES, TERMS, VARYING, plain, with_equity
from tests.engine.series.made import run_of, series_like


def made(pattern: Agreement, **changes: Any) -> Series:
    varying = {**VARYING, "least_participants": 3}
    return series_like(pattern, equity=TERMS, varying=varying, limits=RULES, **changes)


def test_who_leaves_keeps_its_balance_and_its_key(tmp_path: Path) -> None:
    """Five begin, one leaves for good and comes back; nobody else comes in its name."""
    names = [f"participant {k}" for k in range(1, 6)]
    terms = {name: ParticipantTerms(name, f"{at:064x}") for at, name in enumerate(names, start=1)}
    pattern = plain()

    def of(present: Sequence[str], before: Series | None = None, **changes: Any) -> Series:
        like = replace(
            made(pattern),
            participants=[terms[name] for name in present],
            continues="" if before is None else series_hash(before),
            left=[] if before is None else who_left(before, present),
        )
        return replace(like, **changes)

    first = of(names)
    second = of(names[:4], first)
    assert [each.name for each in second.left] == names[4:]
    check_continues(first, second)
    check_continues(second, of(names, second))
    third = of(names[:3], second)
    assert [each.name for each in third.left] == names[3:]
    stranger = replace(terms[names[4]], signing_key=f"{77:064x}")
    there = [terms[name] for name in names[:4]]
    for before, series, why in (
        (first, of(names[:2], first), "2 of the series would stay and 3 leave"),
        (first, of(names[:4], first, left=[]), "'participant 5', who has not signed"),
        (first, of(names[:4], first, left=[stranger]), "'participant 5', who has not signed"),
        (second, of(names, second, participants=[*there, stranger]), "'participant 5', who has"),
        (first, of(names, first, left=[ParticipantTerms("z", f"{9:064x}")]), "never was"),
    ):
        with pytest.raises(AgreementError, match=why):
            check_continues(before, series)
    kept = KeptSeries(tmp_path, most=9, node=0)
    for number, series in ((1, first), (2, second)):
        agreement = run_of(series, with_equity(pattern), number)
        kept.admit(agreement, SignedSeries(canonical(series), {}), now=time.time())
        for each in (kept, KeptSeries(tmp_path, most=9, node=0)):
            book = each.book_of(agreement)
            assert book is not None
            assert book.left == frozenset(each.name for each in series.left)


def test_a_book_is_taken_over_between_runs_and_no_number_is_used_again(tmp_path: Path) -> None:
    kept, pattern = KeptSeries(tmp_path, most=9, node=0), plain()
    first = made(pattern)
    second = made(pattern, continues=series_hash(first))

    def admit(series: Series, number: int) -> Agreement:
        agreement = run_of(series, with_equity(pattern), number)
        kept.admit(agreement, SignedSeries(canonical(series), {}), now=time.time())
        return agreement

    book = kept.book_of(admit(first, 7))
    assert book is not None
    book.freeze(7)

    async def amid_a_count() -> None:
        async with book.turn:
            with pytest.raises(RefusedError, match="is at work"):
                admit(second, 8)

    asyncio.run(amid_a_count())
    for number in (6, 7):
        with pytest.raises(RefusedError, match=f"number {number} is used"):
            admit(second, number)
    assert kept.book_of(run_of(first, with_equity(pattern), 7)) is book
    taken = kept.book_of(admit(second, 8))
    assert taken is not None
    assert taken.book == book.book
    with pytest.raises(RefusedError, match="has taken over"):
        kept.book_of(run_of(first, with_equity(pattern), 7))
