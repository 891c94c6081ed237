"""A series that continues another takes its book over between runs, and no number twice."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tacit.engine.agreement import Agreement, canonical
from tacit.engine.node.kept_series import KeptSeries
from tacit.engine.series import Series, SignedSeries, series_hash
from tacit.errors import RefusedError
from tests.engine.agreement.test_equity import RULES, TERMS, VARYING, plain, with_equity
from tests.engine.series.made import run_of, series_like


def made(pattern: Agreement, **changes: Any) -> Series:
    varying = {**VARYING, "least_participants": 3}
    return series_like(pattern, equity=TERMS, varying=varying, limits=RULES, **changes)


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
