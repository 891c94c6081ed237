"""A node's book of steps: each run counts once, and own steps stay in their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.equity import MEMORY, EquityRule, RunEntry, StepBook, balance_of
from tacit.errors import ParameterError
from tacit.mpc.local import deal_integers, reveal
from tacit.mpc.shares import held_by

NAMES = ("amber", "birch", "cobalt")
RULE = EquityRule(decay=900)


def books() -> list[StepBook]:
    return [StepBook(held_by(me, 3), NAMES) for me in range(3)]


def entries(number: int, steps: dict[str, int], attempt: str = "first") -> list[RunEntry]:
    """What the nodes prepare for a run."""
    dealt = deal_integers(np.array(list(steps.values()), dtype=np.int64))
    return [RunEntry(number, attempt, tuple(steps), share) for share in dealt]


def counted(held: list[StepBook], number: int, steps: dict[str, int]) -> list[StepBook]:
    made = entries(number, steps)
    return [
        book.prepare(entry).count(number, "first") for book, entry in zip(held, made, strict=True)
    ]


def test_balances_are_of_own_steps_in_their_order() -> None:
    rng = np.random.default_rng(1)
    clear: dict[str, list[int]] = {name: [] for name in (*NAMES, "dune")}
    held = books()
    for number in range(1, MEMORY + 9):
        # Everybody sits out at times, and one joins later.
        present = [n for n in clear if rng.random() < 0.8 and (n != "dune" or number > 40)]
        steps = {name: int(rng.integers(-1000, 1000)) for name in present}
        held = counted(held, number, steps)
        for name, step in steps.items():
            clear[name].append(step)
    assert len({book.head for book in held}) == 1
    wanted = [balance_of(clear[name], RULE) for name in clear]
    found = reveal([book.balances(list(clear), RULE) for book in held])
    assert found.tolist() == wanted
    assert [held[0].participated(name) for name in clear] == [len(own) for own in clear.values()]
    assert reveal([book.own_steps("nobody") for book in held]).tolist() == []


def test_a_run_counts_once() -> None:
    held = counted(books(), 1, dict.fromkeys(NAMES, 5))
    again = [book.count(1, "first") for book in held]
    assert again == held
    for book in held:
        with pytest.raises(ParameterError, match="each run counts once"):
            book.prepare(entries(1, dict.fromkeys(NAMES, 7), "second")[0])
        with pytest.raises(ParameterError, match="was not prepared"):
            book.count(1, "second")


def test_what_was_prepared_and_not_counted_moves_nothing() -> None:
    """A node dies in between: the run is computed again, and only the new attempt counts."""
    held = books()
    head = held[0].head
    first = entries(1, dict.fromkeys(NAMES, 5))
    held = [book.prepare(entry) for book, entry in zip(held, first, strict=True)]
    assert {book.head for book in held} == {head}
    assert reveal([book.own_steps("amber") for book in held]).tolist() == []
    second = entries(1, dict.fromkeys(NAMES, 5), "second")
    held = [book.prepare(entry) for book, entry in zip(held, second, strict=True)]
    with pytest.raises(ParameterError, match="was not prepared"):
        held[0].count(1, "first")
    held = [book.count(1, "second") for book in held]
    assert reveal([book.own_steps("amber") for book in held]).tolist() == [5]


def test_the_head_tells_what_was_counted() -> None:
    """Another attempt, agreement, plan, number, others, or a run left out: another head."""
    steps = dict.fromkeys(NAMES, 5)
    usual = counted(counted(books(), 1, steps), 2, steps)[0].head
    other = [
        counted(books(), 2, steps)[0].head,
        counted(counted(books(), 1, steps), 3, steps)[0].head,
        counted(counted(books(), 1, steps), 2, {**steps, "dune": 1})[0].head,
        counted(books(), 1, steps)[0].prepare(entries(2, steps, "b")[0]).count(2, "b").head,
        counted(books(), 1, steps)[0]
        .prepare(replace(entries(2, steps)[0], agreement="ab" * 32))
        .count(2, "first")
        .head,
        counted(books(), 1, steps)[0]
        .prepare(replace(entries(2, steps)[0], plan="ab" * 32))
        .count(2, "first")
        .head,
    ]
    assert len({usual, *other}) == 7
    # Shares are in no head: it tells nobody anything.
    assert counted(counted(books(), 1, steps), 2, dict.fromkeys(NAMES, 6))[0].head == usual


def test_a_run_that_moves_no_balance_is_recorded() -> None:
    held = counted(books(), 1, dict.fromkeys(NAMES, 5))
    void = [book.prepare(RunEntry(2, "")).count(2, "") for book in held]
    assert void[0].last == 2
    assert void[0].head != held[0].head
    assert reveal([book.own_steps("amber") for book in void]).tolist() == [5]
    with pytest.raises(ParameterError, match="not one step for each"):
        held[0].prepare(RunEntry(2, "", NAMES))


def test_who_sits_out_for_long_has_what_it_had() -> None:
    held = counted(books(), 1, dict.fromkeys(NAMES, 5))
    held = counted(held, 2, {**dict.fromkeys(NAMES, 1), "dune": -3})
    before = reveal([book.balances(["dune"], RULE) for book in held]).tolist()
    for number in range(3, 7):
        held = counted(held, number, dict.fromkeys(NAMES, 1))
    assert reveal([book.balances(["dune"], RULE) for book in held]).tolist() == before
