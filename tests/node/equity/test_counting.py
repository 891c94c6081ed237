"""Counting a run at nodes in memory: nothing is told before it counts, and it is the run signed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement
from tacit.agreement.equity import run_facts
from tacit.equity import (
    PlanToCount,
    RunEntry,
    StepBook,
    WithEquity,
    empty_book,
    open_for_all,
    run_hooks,
)
from tacit.errors import RefusedError, TacitError
from tacit.mpc import Session
from tacit.mpc.local import deal_integers, run_parties
from tacit.node.series import KeptBook
from tests.agreement.test_equity import KEYS, TERMS, plain, with_equity

NAMES = tuple(KEYS)


@pytest.fixture(scope="module")
def agreement() -> Agreement:
    return with_equity(plain(), terms=replace(TERMS, every=1, mean=True, spread=True))


def entries(agreement: str, steps: int = 5) -> list[RunEntry]:
    """A run as three nodes prepare it, with two numbers for all."""
    shares = zip(deal_integers(np.full(3, steps)), deal_integers(np.array([97, 1200])), strict=True)
    return [
        RunEntry(2, "3:5", NAMES, own, for_all=for_all, place=1, agreement=agreement)
        for own, for_all in shares
    ]


def hooks_of(agreement: Agreement, book: KeptBook) -> WithEquity:
    facts, unused = run_facts(agreement), cast(Any, None)
    assert facts is not None
    return WithEquity(facts, book, unused)


@dataclass
class Nodes:
    """Three nodes that count a run, with their books on disks."""

    agreement: Agreement
    books: list[KeptBook]
    made: list[RunEntry]
    plan: str = ""

    @classmethod
    def at(cls, folder: Path, agreement: Agreement) -> Nodes:
        books = [KeptBook(folder / f"book-{me}", empty_book(me, 3, NAMES)) for me in range(3)]
        for book in books:
            book.keep(book.book.freeze(2))
        return cls(agreement, books, entries(agreement.digest.hex()))

    async def count(self, s: Session) -> tuple[tuple[str, int], ...]:
        unused: Any = None
        hooks = hooks_of(self.agreement, self.books[s.me])
        # The account itself is compared with its twin in `tests/equity`.
        hooks._account = lambda *_: asyncio.sleep(0, self.made[s.me])  # type: ignore[method-assign]
        return await hooks.after_run(s, unused, PlanToCount(unused, self.plan), attempt="3:5")


def test_what_all_are_told_is_opened_once_all_have_counted(
    tmp_path: Path, agreement: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = Nodes.at(tmp_path, agreement)

    async def looking(*given: Any) -> Any:
        assert [book.book.last for book in nodes.books] == [2, 2, 2]
        return await open_for_all(*given)

    monkeypatch.setattr(run_hooks, "open_for_all", looking)
    told = (("saved", 97), ("spread", 1200))
    assert run_parties(nodes.count).results == [told] * 3
    # Asked for again, by a node that died before its line was in the log: the same.
    assert run_parties(nodes.count).results == [told] * 3
    assert [book.book.runs for book in nodes.books] == [1, 1, 1]


def test_a_run_that_one_node_does_not_count_tells_nothing(
    tmp_path: Path, agreement: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator of node 0 lets its last write fail, to hear numbers of runs that never count."""
    nodes, asked = Nodes.at(tmp_path, agreement), list[int]()

    async def opening(s: Session, *_: Any) -> Any:
        asked.append(s.me)

    def failing(book: StepBook, /) -> None:
        if book.last:
            raise OSError("no space left on the disk")
        nodes.books[0].book = book

    monkeypatch.setattr(run_hooks, "open_for_all", opening)
    monkeypatch.setattr(nodes.books[0], "keep", failing)
    with suppress(OSError, TacitError):
        run_parties(nodes.count, timeout=60.0)
    assert nodes.books[0].book.prepared is not None
    assert asked == []


def test_nodes_that_prepared_different_attempts_count_neither(
    tmp_path: Path, agreement: Agreement
) -> None:
    """Their shares do not fit together, so balances would be anything."""
    nodes = Nodes.at(tmp_path, agreement)
    nodes.made[2] = replaced(nodes.made[2], attempt="3:6")
    with pytest.raises(RefusedError, match="prepared another attempt; ask again"):
        run_parties(nodes.count)
    assert [book.book.last for book in nodes.books] == [0, 0, 0]


def test_what_another_run_prepared_under_the_number_is_not_counted(
    tmp_path: Path, agreement: Agreement
) -> None:
    nodes = Nodes.at(tmp_path, agreement)
    for book, entry in zip(nodes.books, entries("ab" * 32, 9), strict=True):
        book.keep(book.book.prepare(entry))
    run_parties(nodes.count)
    latest = [book.book.latest for book in nodes.books]
    assert {each.agreement for each in latest if each is not None} == {agreement.digest.hex()}
    other = KeptBook(tmp_path / "other", empty_book(0, 3, NAMES).prepare(entries("ab" * 32)[0]))
    other.keep(other.book.count(2, "3:5"))
    with pytest.raises(RefusedError, match="counted for another run"):
        hooks_of(agreement, other).check_counts()


def test_what_was_prepared_with_another_plan_is_not_counted_for_it(
    tmp_path: Path, agreement: Agreement
) -> None:
    """All have prepared one plan and none has counted it, and the platform asks for another."""
    nodes = Nodes.at(tmp_path, agreement)
    for book, entry in zip(nodes.books, nodes.made, strict=True):
        book.keep(book.book.prepare(replaced(entry, plan="aa")))
    nodes.plan = "bb"
    nodes.made = [replaced(entry, attempt="3:6", plan="bb") for entry in nodes.made]
    run_parties(nodes.count)
    latest = [book.book.latest for book in nodes.books]
    assert [(each.attempt, each.plan) for each in latest if each is not None] == [("3:6", "bb")] * 3
