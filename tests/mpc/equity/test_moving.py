"""A book that moves to other nodes: the same balances, whoever lies or is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import AbortError, ParameterError
from tacit.mpc.equity import EquityRule, RunEntry, StepBook, balance_of, book_taken, parts_given
from tacit.mpc.equity.moving import SEED_WORDS, BookPart, cost, draw_seeds
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, held_by, reconstruct

NAMES = ("amber", "birch", "cobalt")
RULE = EquityRule(decay=900)
WAYS = [(3, 3), (3, 4), (4, 3), (4, 4)]
BOUND = bytes(32)
CLEAR = {"amber": [7, -2], "birch": [-9, 1, 40], "cobalt": [5], "dune": []}


def books(nodes: int) -> list[StepBook]:
    """Three runs, of which not all were in each."""

    async def seeds(session: Session) -> ArithmeticShare:
        return draw_seeds(session)

    held = [StepBook(held_by(me, nodes), NAMES) for me in range(nodes)]
    for number in (1, 2, 3):
        steps = {name: own[number - 1] for name, own in CLEAR.items() if len(own) >= number}
        dealt = deal_integers(np.array(list(steps.values()), dtype=np.int64), nodes=nodes)
        drawn = run_parties(seeds, nodes=nodes).results
        for me in range(nodes):
            entry = RunEntry(number, "one", tuple(steps), dealt[me], seeds=drawn[me])
            held[me] = held[me].prepare(entry).count(number, "one")
    return held


def given(held: list[StepBook], nodes: int, bound: bytes = BOUND) -> list[list[BookPart]]:
    return [parts_given(book, participants=CLEAR, nodes=nodes, bound=bound) for book in held]


def moved(boxes: list[list[BookPart]], nodes: int, missing: tuple[int, ...] = ()) -> list[StepBook]:
    """What the later nodes make of it."""
    before = len(boxes)
    return [
        book_taken(
            {old: parts[me] for old, parts in enumerate(boxes) if old not in missing},
            me,
            before=before,
            nodes=nodes,
        )
        for me in range(nodes)
    ]


def check(held: list[StepBook], like: StepBook) -> None:
    wanted = [balance_of(own, RULE) for own in CLEAR.values()]
    assert reveal([book.balances(list(CLEAR), RULE) for book in held]).tolist() == wanted
    for name, own in CLEAR.items():
        assert reveal([book.own_steps(name) for book in held]).tolist() == own
    for me, book in enumerate(held):
        assert book.components == held_by(me, len(held))
        for name in ("founders", "head", "taken", "runs", "last"):
            assert getattr(book, name) == getattr(like, name)
        assert book.is_newcomer("dune")
    # Holders of a component have the same.
    reconstruct([book.seeds for book in held if book.seeds is not None])


@pytest.mark.parametrize(("before", "nodes"), WAYS)
def test_balances_are_the_same_at_the_declared_cost_and_may_move_again(
    before: int, nodes: int
) -> None:
    held = books(before)
    boxes = given(held, nodes)
    steps = sum(map(len, CLEAR.values()))
    for parts in boxes:
        for part in parts:
            assert sum(each.nbytes for each in part.pieces.values()) == cost(before, nodes, steps)
    later = moved(boxes, nodes)
    check(later, held[0])
    back = moved(given(later, before, b"next"), before)
    check(back, held[0])
    assert any((a.parts[c] != b.parts[c]).any() for a, b, c in _common(held, back))


def _common(
    one: list[StepBook], other: list[StepBook]
) -> list[tuple[ArithmeticShare, ArithmeticShare, int]]:
    pairs = zip(one, other, strict=True)
    return [
        (a.own_steps(name), b.own_steps(name), c)
        for a, b in pairs
        for name in NAMES
        for c in a.components
    ]


def test_the_same_is_given_again_and_something_else_for_another_series() -> None:
    held = books(3)

    def words(bound: bytes) -> list[bytes]:
        boxes = given(held, 3, bound)
        return [piece.tobytes() for row in boxes for part in row for piece in part.pieces.values()]

    assert words(BOUND) == words(BOUND)
    assert not set(words(BOUND)) & set(words(b"another"))


def _falsify(how: str) -> Callable[[BookPart], BookPart]:
    def steps(part: BookPart) -> BookPart:
        return replace(part, pieces={at: piece + 1 for at, piece in part.pieces.items()})

    def seeds(part: BookPart) -> BookPart:
        one = np.arange(20, dtype=np.uint64)
        pieces = {at: piece + one[-len(piece) :] for at, piece in part.pieces.items()}
        return replace(part, pieces=pieces)

    def public(part: BookPart) -> BookPart:
        return replace(part, public=replace(part.public, taken={"amber": 1}))

    def fewer(part: BookPart) -> BookPart:
        return replace(part, pieces={at: piece[:-1] for at, piece in part.pieces.items()})

    def none(part: BookPart) -> BookPart:
        return replace(part, pieces={})

    ways = {"steps": steps, "seeds": seeds, "public": public, "fewer": fewer, "none": none}
    return ways[how]


HOW = ["steps", "seeds", "public", "fewer", "none"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("liar", range(4))
def test_one_of_four_is_outvoted_and_never_believed(how: str, liar: int) -> None:
    boxes = given(books(4), 3)
    honest = books(4)[0]
    lies = [
        [_falsify(how)(part) for part in parts] if old == liar else parts
        for old, parts in enumerate(boxes)
    ]
    check(moved(lies, 3), replace(honest, head=moved(boxes, 3)[0].head))
    for missing in set(range(4)) - {liar}:
        with pytest.raises(AbortError, match="the earlier nodes"):
            moved(lies, 3, (missing,))


@pytest.mark.parametrize("how", HOW)
def test_of_three_a_difference_is_refused(how: str) -> None:
    boxes = given(books(3), 4)
    boxes[1] = [_falsify(how)(part) for part in boxes[1]]
    with pytest.raises(AbortError, match="the earlier nodes"):
        moved(boxes, 4)


def test_three_of_four_suffice_and_two_of_three_do_not() -> None:
    held = books(4)
    for missing in range(4):
        check(moved(given(held, 3), 3, (missing,)), held[0])
    with pytest.raises(AbortError, match="fewer than three"):
        moved(given(held, 3), 3, (0, 1))
    with pytest.raises(AbortError, match="fewer than three"):
        moved(given(books(3), 3), 3, (2,))


def test_an_empty_book_moves_and_one_without_seeds_does_not() -> None:
    fresh = [StepBook(held_by(me, 3), NAMES) for me in range(3)]
    later = moved(given(fresh, 4), 4)
    assert [book.own_steps("amber").shape for book in later] == [(0,)] * 4
    assert later[0].founders == NAMES
    assert cost(3, 4, 0) == 0
    # As docs/protocols/equity.md says of four participants with 64 steps each.
    assert (cost(3, 3, 256), cost(4, 4, 256)) == (8320, 18720)
    for book in books(3):
        with pytest.raises(ParameterError, match="count one more run"):
            parts_given(replace(book, seeds=None), participants=CLEAR, nodes=3, bound=BOUND)


def test_nothing_of_those_who_left_is_given() -> None:
    """They signed nothing, and who stays may have chosen nodes that are all its own."""
    held, stay = books(3), ("birch", "cobalt")
    boxes = [parts_given(book, participants=stay, nodes=3, bound=BOUND) for book in held]
    words = sum(len(CLEAR[name]) for name in stay) + SEED_WORDS
    assert {len(piece) for row in boxes for part in row for piece in part.pieces.values()} == {
        words
    }
    later = moved(boxes, 3)
    assert reveal([book.own_steps("birch") for book in later]).tolist() == CLEAR["birch"]
    assert all(book.own_steps("amber").shape == (0,) for book in later)
    # Should it come back, it begins at 0 and is no founder any more.
    assert later[0].is_newcomer("amber")
    assert later[0].members == stay
    assert later[0].head == held[0].head


def test_a_seed_has_256_bits() -> None:
    assert books(3)[0].seeds.shape == (SEED_WORDS,)  # type: ignore[union-attr]
    assert 64 * SEED_WORDS == 256


def test_later_seeds_take_all_earlier_ones() -> None:
    """Whoever lacks one earlier seed knows none of the later ones."""
    held = books(3)
    later = moved(given(held, 3), 3)
    for changed_seed in range(3):
        others = [replace(book, seeds=ArithmeticShare(_other(book, changed_seed))) for book in held]
        different = moved(given(others, 3), 3)
        for one, two in zip(later, different, strict=True):
            assert one.seeds is not None
            assert two.seeds is not None
            for c in one.components:
                assert (one.seeds.parts[c] != two.seeds.parts[c]).all()


def _other(book: StepBook, component: int) -> dict[int, Words]:
    assert book.seeds is not None
    return {c: part + (c == component) for c, part in book.seeds.parts.items()}


def test_each_run_that_counts_has_seeds_of_its_own() -> None:
    (book, *_) = books(3)
    assert book.seeds is not None
    assert book.latest is not None
    assert book.latest.seeds is book.seeds
    without = RunEntry(4, "one")
    assert book.prepare(without).count(4, "one").seeds is book.seeds
