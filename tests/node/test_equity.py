"""Balances at one node: a run is frozen after those it follows, and counted once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement, RunOfSeries
from tacit.agreement.equity import run_facts
from tacit.equity import (
    FIRST_HEAD,
    PlanToCount,
    RunEntry,
    StepBook,
    WithEquity,
    empty_book,
    open_for_all,
    run_hooks,
)
from tacit.errors import MismatchError, RefusedError, TacitError
from tacit.mpc import ArithmeticShare, Session
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.node.series import KeptBook
from tacit.records.evidence import NodeSigner, read_evidence, suspects
from tests.agreement.test_equity import KEYS, TERMS, plain, with_equity
from tests.on_nodes.fixtures import example_cast
from tests.support.telling import tell_each, tell_two

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
    with pytest.raises(RefusedError, match="not all nodes have prepared the same attempt"):
        run_parties(nodes.count)
    assert [book.book.last for book in nodes.books] == [0, 0, 0]


def four_that_follow(folder: Path) -> tuple[list[KeptBook], Agreement]:
    """Four nodes whose books have nothing yet, and the first run of their series."""
    kept = [KeptBook(folder / f"book-{me}", empty_book(me, 4, NAMES)) for me in range(4)]
    return kept, following(FIRST_HEAD)


@pytest.mark.parametrize("hook", ["before freezing", "before searching", "after the run"])
def test_one_of_four_that_tells_two_things_is_named_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    """It tells node 1 of another head, another computation or another attempt than the rest."""
    liar, signers = 3, example_cast(4)
    kept, agreement = four_that_follow(tmp_path)
    facts, unused = run_facts(agreement), cast(Any, None)
    assert facts is not None
    weights = [Kept() for _ in range(4)]
    for each in weights:
        each.attempt = "1:1"
    for book in kept:
        if hook == "after the run":
            book.keep(book.book.freeze(NUMBER))
    before = [book.book for book in kept]
    honest = Session.tell_alike

    async def tell_alike(s: Session, message: bytes) -> dict[int, bytes]:
        if s.me != liar:
            return await honest(s, message)
        return await tell_two(s, message, bytes([7]) * len(message), to=1)

    async def at_node(s: Session) -> None:
        hooks = WithEquity(facts, kept[s.me], weights[s.me])
        if hook == "before freezing":
            await hooks.before_freeze(s)
        elif hook == "before searching":
            await hooks.before_search(s, unused, attempt="1:2")
        else:
            await hooks.after_run(s, unused, PlanToCount(unused), attempt="3:5")

    # `tell_two` goes through the honest method itself.
    monkeypatch.setattr(Session, "tell_alike", tell_alike)
    with pytest.raises(MismatchError, match=f"node {liar}") as error:
        run_parties(
            at_node,
            nodes=4,
            tellers=lambda node: NodeSigner(signers.agreement, "told", signers.nodes[node].signing),
        )
    assert suspects(read_evidence(signers.agreement, error.value.evidence)) == {liar}
    assert [book.book for book in kept] == before
    assert [each.attempt for each in weights] == ["1:1"] * 4


def lying(what: Callable[[int, bytes], bytes]) -> Callable[..., Any]:
    """Node 0 tells each node something of its own."""
    honest = Session.tell

    async def tell(s: Session, message: bytes) -> dict[int, bytes]:
        if s.me != 0:
            return await honest(s, message)
        return await tell_each(s, {to: what(to, message) for to in range(s.nodes)})

    return tell


def test_no_refusal_to_count_names_an_honest_node(
    tmp_path: Path, agreement: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node 0 tells one that it counted what nobody prepared, or prepared something else."""
    for length in (64, 32):

        def what(to: int, message: bytes, length: int = length) -> bytes:
            return bytes([7]) * length if to == 1 and len(message) == length else message

        folder = tmp_path / str(length)
        folder.mkdir()
        nodes = Nodes.at(folder, agreement)
        monkeypatch.setattr(Session, "tell", lying(what))
        with pytest.raises(RefusedError) as refused:
            run_parties(nodes.count)
        assert not re.search(r"node \d", refused.value.reason)
        monkeypatch.undo()


def test_no_refusal_to_follow_names_an_honest_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only node 0 has counted the run; it shows that to node 1, and not to node 2."""
    kept = books(tmp_path, counted={0})
    head = kept[0].book.head
    monkeypatch.setattr(Session, "tell", lying(lambda to, told: bytes(64) if to == 2 else told))
    with pytest.raises(RefusedError) as refused:
        frozen(kept, head)
    assert "counted other runs" in refused.value.reason
    assert not re.search(r"node \d", refused.value.reason)


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
    with pytest.raises(RefusedError, match="counted other runs than those that this one"):
        frozen(kept, kept[0].book.pending)
    assert [(each.book.last, each.book.frozen) for each in kept] == [(0, 2)] * 3


def test_a_node_that_prepared_another_attempt_stops_all(tmp_path: Path) -> None:
    kept = books(tmp_path, counted={0, 1}, attempts="aab")
    with pytest.raises(RefusedError, match="counted other runs than those that this one"):
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
