"""When inputs are frozen all nodes have counted what the run follows, or none freezes them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace as replaced
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.engine.agreement import Agreement, RunOfSeries
from tacit.engine.agreement.equity_check import equity_shape
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.node.work.equity.weighing import use_number, weigh
from tacit.equity import FIRST_HEAD, empty_book
from tacit.errors import RefusedError
from tacit.mpc import Session
from tacit.mpc.local import deal_integers, reveal, run_parties
from tests.engine.agreement.test_equity import plain, with_equity
from tests.engine.node.equity.test_counting import NAMES, entries

NUMBER = 3


def books(folder: Path, *, counted: Collection[int], attempts: str = "aaa") -> list[KeptBook]:
    """Run 2 is prepared at all nodes, by these attempts, and counted at some."""
    made = []
    for me, entry in enumerate(entries("ab" * 32)):
        kept = KeptBook(folder / f"book-{me}", empty_book(me, 3, NAMES))
        entry = replaced(entry, attempt=attempts[me])
        book = kept.book.freeze(2).prepare(entry)
        kept.keep(book.count(2, attempts[me]) if me in counted else book)
        made.append(kept)
    return made


def following(head: str) -> Agreement:
    agreement = with_equity(plain(), head=head)
    assert agreement.series is not None
    return replace(agreement, series=RunOfSeries(agreement.series.series, NUMBER))


def frozen(kept: list[KeptBook], head: str) -> list[int]:
    agreement = following(head)
    run_parties(lambda s: use_number(s, agreement, kept[s.me]))
    return [each.book.frozen for each in kept]


def test_who_had_prepared_it_counts_what_another_has_counted(tmp_path: Path) -> None:
    kept = books(tmp_path, counted={1})
    assert frozen(kept, kept[1].book.head) == [NUMBER] * 3
    assert len({each.book.head for each in kept}) == 1
    assert [each.book.last for each in kept] == [2, 2, 2]


def test_what_nobody_has_counted_is_not_followed(tmp_path: Path) -> None:
    """All have prepared it; that all have is what nobody knows."""
    kept = books(tmp_path, counted=set())
    with pytest.raises(RefusedError, match="has counted other runs than those that this one"):
        frozen(kept, kept[0].book.pending)
    assert [(each.book.last, each.book.frozen) for each in kept] == [(0, 2)] * 3


def test_a_node_that_prepared_another_attempt_stops_all(tmp_path: Path) -> None:
    kept = books(tmp_path, counted={0, 1}, attempts="aab")
    with pytest.raises(RefusedError, match="has counted other runs than those that this one"):
        frozen(kept, kept[0].book.head)
    assert [each.book.frozen for each in kept] == [2, 2, 2]


def test_a_run_that_was_set_aside_by_all_is_void(tmp_path: Path) -> None:
    kept = books(tmp_path, counted=set())
    assert frozen(kept, kept[0].book.head) == [NUMBER] * 3
    assert [each.book.voids for each in kept] == [(2,)] * 3
    assert all(each.book.prepared is None for each in kept)


def test_newcomers_count_for_no_more_than_others_at_nodes(tmp_path: Path) -> None:
    """All are as far behind; only one of them joined later."""
    agreement = following(FIRST_HEAD)
    assert agreement.equity is not None
    behind = deal_integers(np.full(1, -(1 << 19)))
    shape = equity_shape(agreement)
    costs = np.ones((shape.rows, shape.columns), dtype=np.int64)
    stated, kept = deal_integers(costs), {}

    async def weighed(s: Session) -> None:
        book = replaced(
            empty_book(s.me, 3, NAMES[:2]),
            steps=dict.fromkeys(NAMES, behind[s.me]),
            taken=dict.fromkeys(NAMES, 1),
        )
        weighted = SimpleNamespace(
            attempt="",
            forget=lambda: None,
            keep=lambda *given: kept.update({s.me: given}),
        )
        inputs = SimpleNamespace(weighted=weighted, weights=lambda _: stated[s.me])
        state: Any = SimpleNamespace(agreement=agreement, inputs=inputs)
        await weigh(s, state, book, attempt="1:1")

    run_parties(weighed)
    most = agreement.equity.terms.rule.largest_factor
    assert most > 16
    assert reveal([kept[me][1] for me in range(3)]).tolist() == [most, most, 16]
    by_row = reveal([kept[me][2] for me in range(3)])[:, 0].tolist()
    assert by_row == [[most, most, 16][owner] for owner in shape.owners]
