"""Real nodes and a series with equity: the twin's factors and balances, each run counted once."""

from __future__ import annotations

import asyncio
from dataclasses import replace as changed

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.agreement import pin_sealed, series_hash
from tacit.agreement.equity import equity_shape, open_told
from tacit.agreement.plan_parts import whole_plan
from tacit.equity import empty_book, weighted
from tacit.equity.account import cost, cost_for_all
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc.local import reveal
from tacit.node.inputs import StoredWeighted
from tacit.node.series import FOLDER, KeptBook
from tacit.node.store import decoder_of
from tacit.problems import Problem
from tacit.records.events import RunCounted
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.agreed_cluster import AgreedCluster, run
from tests.on_nodes.equity_series import EquitySeries, hand_over, problem_of
from tests.on_nodes.sealed_agreed_cluster import twin
from tests.support.mending import mend

pytestmark = pytest.mark.processes


def kept_weights(agreed: AgreedCluster) -> tuple[list[int], NDArray[np.int64]]:
    """The factors and the weights that are searched, which only several nodes together tell."""
    files = [
        decoder_of(StoredWeighted).decode(agreed.state_on_disk(node, "weighted"))
        for node in range(len(agreed.agreement.nodes))
    ]
    factors = reveal([each.factors for each in files])
    return factors.tolist(), reveal([each.weights for each in files])


def check_series(cluster: LocalCluster) -> None:
    """Three runs: weights, plan, steps, what is told and what is opened are those of the twin."""
    series = EquitySeries.draft(cluster)
    names = list(series.keys)
    for seed in (1, 2, 3):
        made = series.next_run(problem_of(seed))
        factors = [series.clear.factor(name) for name in names]

        async def whole(made: AgreedCluster = made, factors: list[int] = factors) -> None:
            async with series.begun(made) as search:
                await search.advance(6, 6, until=None)
                stated = made.problem.objectives[0].weights
                assert stated is not None
                owners = np.empty(made.problem.rows, dtype=np.intp)
                for place, each in enumerate(made.problem.participants):
                    owners[list(each.rows)] = place
                found, times = kept_weights(made)
                assert found == factors
                assert (times == weighted(stated, factors, owners)).all()
                clear = twin(changed(made, problem=replace_weights(made, times)), search.seed)
                clear.advance(6, horizon=6)
                opened = await search.open(until=None)
                assert search.counted_rounds == declared_rounds(made)
                saved = series.clear.count(made, opened.plan)
                assert opened.plan == clear.plan()
                check_told(series, made, saved.tolist(), factors)

        run(whole())
        assert series.balances() == series.expected()
    assert any(each != 16 for each in [series.clear.factor(name) for name in names])
    assert series.books()[0].last == 3


def declared_rounds(made: AgreedCluster) -> int:
    """Of the account and what all are told, and three in which nodes tell how far they are."""
    assert made.agreement.equity is not None
    shape, telling = equity_shape(made.agreement), made.agreement.equity.terms.telling(1)
    nodes, members = len(made.agreement.nodes), len(made.agreement.participants)
    account = cost(nodes, shape, telling, members=members)
    return account.rounds + cost_for_all(nodes, telling).rounds + 3


def replace_weights(made: AgreedCluster, times: NDArray[np.int64]) -> Problem:
    objective = changed(made.problem.objectives[0], weights=times, weight_bound=20_000)
    return changed(made.problem, objectives=(objective,))


def check_told(
    series: EquitySeries, made: AgreedCluster, saved: list[int], factors: list[int]
) -> None:
    nodes = range(len(made.agreement.nodes))
    lines = [made.events(node, RunCounted)[0] for node in nodes]
    balances = [series.clear.balance(name) for name in series.keys]
    assert {each.head for each in lines} == {book.head for book in series.books()}
    assert all(each.opened == [("spread", max(balances) - min(balances))] for each in lines)
    for place, (name, key) in enumerate(series.keys.items()):
        boxes = {node: lines[node].boxes[place] for node in nodes}
        own = open_told(made.agreement, name, boxes, place=lines[0].place, key=key)
        assert (own.saved, own.factor) == (saved[place], factors[place])


def test_three_nodes_give_what_the_twin_gives(cluster: LocalCluster) -> None:
    check_series(cluster)


def test_four_nodes_give_what_the_twin_gives(four: LocalCluster) -> None:
    check_series(four)


def test_no_plan_is_opened_before_it_counts_and_it_counts_once(cluster: LocalCluster) -> None:
    series = EquitySeries.draft(cluster)
    made = series.next_run(problem_of(1))

    async def whole() -> None:
        async with series.begun(made) as search:
            await search.advance(2, 2, until=None)
            asked = search.count
            search.count = lambda *, until: asyncio.sleep(0)  # type: ignore[method-assign]
            with pytest.raises(RefusedError, match="not counted yet"):
                await search.open(until=None)
            search.count = asked  # type: ignore[method-assign]
            head = await search.count(until=None)
            search.head = None
            assert await search.count(until=None) == head
            opened = await search.open(until=None)
            series.clear.count(made, opened.plan)

    run(whole())
    assert series.balances() == series.expected()
    assert len(made.events(0, RunCounted)) == 1


def test_a_node_that_dies_after_it_prepared_counts_with_the_next_run(
    cluster: LocalCluster,
) -> None:
    """As if node 1 had been killed between its last word and its last write: its file says so."""
    series = EquitySeries.draft(cluster)
    made = series.next_run(problem_of(1))
    run(series.finish(made))
    after = series.books()
    put_back(series, 1, prepared=True)
    assert series.books()[1].head != after[0].head
    run(series.finish(series.next_run(problem_of(2))))
    assert series.balances() == series.expected()


def put_back(series: EquitySeries, node: int, *, prepared: bool) -> None:
    """Give a node the book that it had before it counted the first run."""
    folder = series.cluster.folder / f"node-{node}.data" / FOLDER / series_hash(series.series)
    first = empty_book(node, len(series.series.nodes), list(series.keys))
    kept = KeptBook(folder / "book", first)
    entry = kept.book.latest
    old = changed(first, frozen=1, prepared=entry if prepared else None)
    series.cluster.kill(node)
    kept.keep(old)
    mend(series.cluster)


def test_a_book_that_was_set_back_is_noticed(cluster: LocalCluster) -> None:
    series = EquitySeries.draft(cluster)
    run(series.finish(series.next_run(problem_of(1))))
    put_back(series, 2, prepared=False)
    made = series.next_run(problem_of(2))

    async def refused() -> None:
        async with made.coordinator() as coordinator:
            with pytest.raises(RefusedError, match="follows other runs than were counted here"):
                await hand_over(series, made, coordinator)

    run(refused())


def test_another_head_or_rule_is_refused_and_a_later_run_makes_an_earlier_void(
    cluster: LocalCluster,
) -> None:
    series = EquitySeries.draft(cluster)
    equity = series.next_run(problem_of(1)).agreement.equity
    assert equity is not None

    async def refused(made: AgreedCluster, why: str) -> None:
        async with made.coordinator() as coordinator:
            with pytest.raises(RefusedError, match=why):
                await hand_over(series, made, coordinator)

    other = replace(equity.terms, levels=8)
    run(refused(series.next_run(problem_of(1), head="ab" * 32), "another head"))
    run(
        refused(
            series.next_run(problem_of(1), equity=replace(equity, terms=other)), "rule of equity"
        )
    )
    run(
        refused(
            series.next_run(problem_of(1), equity=replace(equity, reference=[*range(1, 7)])),
            "not first come",
        )
    )
    early, late = series.next_run(problem_of(1)), series.next_run(problem_of(2))

    async def whole() -> None:
        async with series.begun(early) as first:
            await first.advance(2, 2, until=None)
            await series.finish(late)
            with pytest.raises(RefusedError, match="is void"):
                await first.open(until=None)

    run(whole())
    assert series.balances() == series.expected()
    assert series.books()[0].voids == (early.agreement.series.number,)  # type: ignore[union-attr]


def test_a_plan_for_its_owners_counts_while_it_is_shares(cluster: LocalCluster) -> None:
    """The platform never sees the plan, and the balances are those of the optimum with factors."""
    series = EquitySeries.draft(cluster, plan="owners")
    made = series.next_run(problem_of(1))

    async def whole() -> None:
        async with series.begun(made) as search:
            await search.advance(30, 30, until=None)
            times = kept_weights(made)[1]
            opened = await search.open(until=None)
            assert (opened.plan, opened.outcome) == ([], "optimum")
            plan = whole_plan(made.agreement, 0, opened.sealed, series.keys)
            assert times[np.arange(6), plan].sum() == times[linear_sum_assignment(times)].sum()
            series.clear.count(made, plan)

    run(whole())
    assert series.balances() == series.expected()


def test_nothing_is_counted_before_the_least_iterations(cluster: LocalCluster) -> None:
    """What somebody saved with an early plan would tell what the first exchanges were worth."""
    settings = AssignmentParameters(iterations=8, least=4)
    series = EquitySeries.draft(cluster, pinned=pin_sealed(settings, [(1,)]))
    made = series.next_run(problem_of(1))

    async def whole() -> None:
        async with series.begun(made) as search:
            await search.advance(3, 8, until=None)
            with pytest.raises(RefusedError, match="no plan is opened before 4"):
                await search.count(until=None)
            await search.advance(5, 8, until=None)
            series.clear.count(made, (await search.open(until=None)).plan)

    run(whole())
    assert series.balances() == series.expected()
