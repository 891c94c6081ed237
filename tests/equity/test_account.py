"""The account of a run: steps, what each is told and what all are told, at the declared cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from tacit.equity import (
    MEAN,
    SPREAD,
    EquityRule,
    EquityShape,
    RunEntry,
    StepBook,
    Telling,
    account_of,
    balance_of,
    empty_book,
    open_for_all,
    saved_shares,
    steps_of,
)
from tacit.equity.account import cost, cost_for_all
from tacit.errors import ParameterError
from tacit.mpc.local import PartiesRun, deal_integers, reveal, run_parties
from tacit.mpc.session import Session
from tests.mpc.both import check_cost, three_and_four

NAMES = ("amber", "birch", "cobalt")
RULE = EquityRule(decay=900)
SHAPE = EquityShape([0, 1, 2, 2], columns=5, bound=50)
REFERENCE, PLAN = np.array([0, 1, 2, 3]), np.array([3, 1, 0, 4])
FACTORS = [12, 16, 20]


def weights_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 51, (4, 5))


def counted(
    nodes: int,
    telling: Telling,
    books: list[StepBook],
    seed: int,
    number: int,
) -> PartiesRun[RunEntry]:
    weights, plan = (deal_integers(x, nodes=nodes) for x in (weights_of(seed), PLAN))
    factors = deal_integers(FACTORS, nodes=nodes)
    return run_parties(
        lambda s: account_of(
            s,
            RunEntry(number, f"attempt {number}", NAMES),
            weights[s.me],
            REFERENCE,
            plan[s.me],
            factors[s.me],
            SHAPE,
            book=books[s.me],
            rule=RULE,
            telling=telling,
        ),
        nodes=nodes,
    )


async def opened_by(
    entries: Sequence[RunEntry], telling: Telling, s: Session
) -> tuple[tuple[str, int], ...]:
    return await open_for_all(s, entries[s.me], telling)


@three_and_four
@pytest.mark.parametrize(
    "telling",
    [
        Telling(),
        Telling(level=True),
        Telling(level=True, balance=True, mean=True, spread=True),
        Telling(spread=True),
    ],
)
def test_what_is_told_is_that_of_the_twin(telling: Telling, nodes: int) -> None:
    books = [empty_book(me, nodes, NAMES) for me in range(nodes)]
    own: list[list[int]] = [[], [], []]
    for number in (1, 2):
        run = counted(nodes, telling, books, number, number)
        check_cost(run, cost(nodes, SHAPE, telling, members=3))
        saved = saved_shares(weights_of(number), REFERENCE, PLAN, SHAPE)
        for steps, step in zip(own, steps_of(saved), strict=True):
            steps.append(int(step))
        balances = [balance_of(steps, RULE) for steps in own]
        first = run.results[0]
        told = {MEAN: int(saved.sum()), SPREAD: max(balances) - min(balances)}
        agreed = ((MEAN, telling.mean), (SPREAD, telling.spread))
        assert first.public == RunEntry(number, f"attempt {number}", NAMES).public
        entries = run.results
        opened = run_parties(partial(opened_by, entries, telling), nodes=nodes)
        check_cost(opened, cost_for_all(nodes, telling))
        assert dict(opened.results[0]) == {name: told[name] for name, is_told in agreed if is_told}
        lines = [each.told for each in run.results if each.told is not None]
        if telling.numbers:
            expected = np.array([saved, FACTORS, balances]).T[:, : telling.numbers]
            assert reveal(lines).tolist() == expected.tolist()
        else:
            assert lines == []
        books = [
            book.prepare(entry).count(number, f"attempt {number}")
            for book, entry in zip(books, run.results, strict=True)
        ]
        assert reveal([book.balances(NAMES, RULE) for book in books]).tolist() == balances


def test_the_spread_is_that_of_everybody_whoever_takes_part() -> None:
    """Else who chooses the participants of a run chooses whose balances are compared."""
    names = (*NAMES, "dune", "ember")
    dealt = deal_integers(np.array([10**7, 0, 0, 0, -(10**7)]))
    books = [
        empty_book(me, 3, names).prepare(RunEntry(1, "", names, dealt[me])).count(1, "")
        for me in range(3)
    ]
    telling = Telling(spread=True)
    run = counted(3, telling, books, 2, 2)
    check_cost(run, cost(3, SHAPE, telling, members=5))
    balances = reveal(
        [
            book.prepare(entry).count(2, entry.attempt).balances(names, RULE)
            for book, entry in zip(books, run.results, strict=True)
        ]
    )
    opened = run_parties(partial(opened_by, run.results, telling)).results[0]
    assert opened == ((SPREAD, balances.max() - balances.min()),)
    assert balances.argmin() == 4


def test_what_is_told_is_shared_afresh() -> None:
    """Else the components that a participant gets would be sums of those of others' shares."""
    books = [empty_book(me, 3, NAMES) for me in range(3)]
    first, again = (counted(3, Telling(level=True), books, 1, 1).results for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert one.told is not None
        assert other.told is not None
        assert all((one.told.parts[c] != other.told.parts[c]).all() for c in one.told.parts)


def test_a_later_run_that_is_frozen_makes_earlier_ones_void() -> None:
    book = empty_book(0, 3, NAMES).freeze(1).freeze(2)
    assert book.voids == (1,)
    with pytest.raises(ParameterError, match="is void"):
        book.prepare(RunEntry(1, ""))
    counts = book.prepare(RunEntry(2, "")).count(2, "")
    assert counts.freeze(5).voids == (1,)
    with pytest.raises(ParameterError, match="each run counts once"):
        counts.freeze(2)
