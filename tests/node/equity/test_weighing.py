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

from tacit.agreement import Agreement, RunOfSeries
from tacit.agreement.equity import run_facts
from tacit.equity import FIRST_HEAD, WithEquity, empty_book
from tacit.errors import RefusedError
from tacit.mpc import ArithmeticShare, Session
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.node.series import KeptBook
from tests.agreement.test_equity import plain, with_equity
from tests.node.equity.test_counting import NAMES, entries

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
    facts, unused = run_facts(agreement), Kept()
    assert facts is not None
    run_parties(lambda s: WithEquity(facts, kept[s.me], unused).before_freeze(s))
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


def test_costs_count_more_for_who_is_behind_once_and_for_all(tmp_path: Path) -> None:
    """If one node has lost its weights with factors, all compute them anew."""
    agreement = following(FIRST_HEAD)
    assert agreement.equity is not None
    facts = run_facts(agreement)
    assert facts is not None
    behind, even = deal_integers(np.full(1, -(1 << 19))), deal_integers(np.zeros(1, dtype=np.int64))
    shape = facts.shape
    stated = deal_integers(np.ones((shape.rows, shape.columns), dtype=np.int64))
    stores: list[Any] = [Kept() for _ in range(3)]

    def weigh(attempt: str) -> None:
        async def at_node(s: Session) -> None:
            book = replaced(
                empty_book(s.me, 3, NAMES),
                steps=dict(zip(NAMES, [behind[s.me], behind[s.me], even[s.me]], strict=True)),
                taken=dict.fromkeys(NAMES, 1),
            )
            kept: Any = SimpleNamespace(book=book)
            hooks = WithEquity(facts, kept, stores[s.me])
            await hooks.before_search(s, lambda: stated[s.me], attempt=attempt)

        run_parties(at_node)

    weigh("1:1")
    most = agreement.equity.terms.rule.largest_factor
    assert most > 16
    assert reveal([each.made for each in stores]).tolist() == [most, most, 16]
    by_row = reveal([each.weights for each in stores])[:, 0].tolist()
    assert by_row == [[most, most, 16][owner] for owner in shape.owners]
    weigh("1:2")
    assert [each.attempt for each in stores] == ["1:1"] * 3
    stores[1].forget()
    weigh("1:3")
    assert [each.attempt for each in stores] == ["1:3"] * 3


class Kept:
    """Weights with factors that stay in memory."""

    attempt = ""

    def forget(self) -> None:
        self.attempt = ""

    def keep(self, attempt: str, factors: ArithmeticShare, weights: ArithmeticShare, /) -> None:
        self.attempt, self.made, self.weights = attempt, factors, weights

    def factors(self) -> ArithmeticShare:
        return self.made
