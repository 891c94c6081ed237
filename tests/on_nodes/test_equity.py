"""Series with equity on real nodes: plans and balances are the twin's, each run counted once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.agreement import equity_shape, pin_sealed, plan_digest, series_hash
from tacit.agreement.equity import open_told
from tacit.agreement.plan_parts import whole_plan
from tacit.derived import agreed_parameters
from tacit.disclosure import BestMode, estimator_named, parse_disclosure
from tacit.equity import columns_of, empty_book, least_costs, plan_costs, weighted
from tacit.equity.account import cost, cost_for_all
from tacit.errors import AgreementError, LogError, RefusedError
from tacit.evaluators import SeparateObjectives, SimulatedObjective
from tacit.local.cluster import LocalCluster
from tacit.mpc.local import reveal
from tacit.node.inputs import StoredWeighted
from tacit.node.series import FOLDER, KeptBook
from tacit.node.store import decoder_of
from tacit.problems import Objective, Participant, Problem, Tour
from tacit.records.events import RunCounted
from tacit.records.messages import CountRun
from tacit.records.requests import NO_ATTEMPT, pack_candidates, request_hash
from tacit.runs import Agreed, Limits, StopReason, agreed_driver, drive
from tacit.runs.agreed import AgreedEvaluating
from tacit.runs.evaluating import EvaluatingDriver
from tacit.search.moves import AssignmentParameters, TourParameters
from tacit.verify import Claim, check_counted
from tests.on_nodes.agreed_cluster import AgreedCluster, outcomes, run
from tests.on_nodes.equity_series import GENETIC, EquitySeries, hand_over, problem_of
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
    """Of the account and what all are told, and three in which nodes tell how far they are.

    Four nodes pass on what they heard in the first two of these.
    """
    assert made.agreement.equity is not None
    shape, telling = equity_shape(made.agreement), made.agreement.equity.terms.telling(1)
    nodes, members = len(made.agreement.nodes), len(made.agreement.participants)
    account = cost(nodes, shape, telling, members=members)
    told = 3 if nodes == 3 else 5
    return account.rounds + cost_for_all(nodes, telling).rounds + told


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


def ranked(seed: int, disclose: str = "top:3", best: BestMode = BestMode.NOTHING) -> Problem:
    return problem_of(seed, disclose=disclose, best=best)


def drafted(cluster: LocalCluster, **about: Any) -> EquitySeries:
    return EquitySeries.draft(cluster, problem=ranked(1, **about), pinned=GENETIC)


def begin(series: EquitySeries, made: AgreedCluster) -> None:
    async def begun() -> None:
        async with made.coordinator() as coordinator:
            await hand_over(series, made, coordinator)

    run(begun())


@contextmanager
def driven(made: AgreedCluster, folder: Path) -> Iterator[AgreedEvaluating]:
    """As the platform's process goes on with a run."""
    folder.mkdir(exist_ok=True)
    manifests = {0: [rows.manifest for rows in made.sealed()]}
    agreed = Agreed(agreement=made.agreement, signatures=made.signatures, manifests=manifests)
    with agreed_driver(agreed, made.cluster.config, folder) as driver:
        assert isinstance(driver, AgreedEvaluating)
        yield driver


def check_twin(made: AgreedCluster, driver: EvaluatingDriver) -> None:
    """The same search in the clear, over the weights with their factors, finds all the same."""
    weighted, parameters = (
        replace_weights(made, kept_weights(made)[1]),
        agreed_parameters(made.agreement),
    )
    simulated = SimulatedObjective(weighted, 0, estimator=estimator_named(parameters.estimator))
    limits = Limits(evaluations=made.agreement.limits.evaluations)
    clear = EvaluatingDriver(
        weighted, parameters, SeparateObjectives((simulated,)), driver.seed, limits
    )
    drive(clear)
    assert clear.plans()[0] == driver.plans()[0]
    ours, theirs = driver.now.search, clear.now.search
    assert (ours.genomes == theirs.genomes).all()
    assert (ours.estimates == theirs.estimates).all()


@pytest.mark.parametrize(
    ("disclose", "best"),
    [
        ("top:3", BestMode.NOTHING),
        ("quantiles:4", BestMode.IMPROVEMENT),
        ("order", BestMode.NOTHING),
    ],
)
def test_ranks_lead_to_the_plan_of_the_twin_and_it_counts(
    cluster: LocalCluster, tmp_path: Path, disclose: str, best: BestMode
) -> None:
    series = drafted(cluster, disclose=disclose, best=best)
    for number in (1, 2) if disclose == "top:3" else (1,):
        made = series.next_run(ranked(number, disclose, best))
        begin(series, made)
        with driven(made, tmp_path / f"run-{number}") as driver:
            assert driver.plans() == []
            factors, _ = kept_weights(made)
            assert factors == [series.clear.factor(name) for name in series.keys]
            drive(driver, until=time.monotonic() + 60)
            plan = driver.plans()[0]
            check_twin(made, driver)
        series.clear.count(made, plan)
        assert series.balances() == series.expected()
        logs = [made.log(node) for node in range(3)]
        assert "counts once" in check_counted(made.agreement, logs, Claim(plan))
        with pytest.raises(LogError, match="not the one that was counted"):
            check_counted(made.agreement, logs, Claim(plan[::-1]))


def test_what_is_counted_is_one_of_the_best_once_and_the_end(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """A platform that would count another plan, count twice, or go on afterwards."""
    series = drafted(cluster)
    made = series.next_run(ranked(1))
    begin(series, made)
    known, digest = made.agreement.known_problem, made.agreement.digest
    worst = np.array(made.agreement.equity.reference)  # type: ignore[union-attr]

    async def refused(message: Any, why: str) -> None:
        async with made.coordinator() as coordinator:
            epoch = await coordinator.epoch()
            request = msgspec.structs.replace(message, epoch=epoch)
            for reply in await outcomes(coordinator.clients, lambda _: request):
                assert isinstance(reply, RefusedError)
                assert why in reply.reason, reply.reason

    def count(plan: Any) -> CountRun:
        packed = pack_candidates(known, np.array(plan)[None, :])
        return CountRun(
            agreement=digest, search=0, state=NO_ATTEMPT, plan=packed, epoch=0, attempt=1
        )

    with driven(made, tmp_path / "run") as driver:
        driver.start(until=time.monotonic() + 60)
        driver.advance()
        run(refused(count(worst), "not one of the best plans"))
        run(refused(msgspec.structs.replace(count(worst), plan=b""), "one whole plan"))
    # The process dies when it has just asked for the count, and goes on with that plan.
    with driven(made, tmp_path / "run") as driver:
        driver.start(until=time.monotonic() + 60)
        driver.advance()
        driver.count = lambda plan, until: (_ for _ in ()).throw(KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            driver.finish(StopReason.DEADLINE)
        assert driver.plans() == []
    with driven(made, tmp_path / "run") as driver:
        assert drive(driver, until=time.monotonic() + 60) is StopReason.DEADLINE
        assert driver.now.evaluations == 2
        plan = driver.plans()[0]
        following = driver.problem.plans(driver.search.ask(driver.now.search, driver._rng))
    series.clear.count(made, plan)
    # Not another of the best: genomes that differ in unused columns alone are the same plan.
    run(refused(count(worst), "counted with another plan"))
    packed = pack_candidates(known, following)
    named = request_hash("evaluate", "top:3", "nothing", packed)
    asked = made.request(b"", epoch=0, number=3, request=named)
    run(refused(asked, "nothing new is evaluated"))
    lines = [made.events(node, RunCounted) for node in range(3)]
    assert [[each.plan for each in own] for own in lines] == [
        [plan_digest(made.agreement, plan)]
    ] * 3
    assert series.balances() == series.expected()


def test_a_run_that_is_broken_off_is_void_and_evaluates_nothing_more(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    series = drafted(cluster)
    early, late = series.next_run(ranked(1)), series.next_run(ranked(2))
    begin(series, early)
    with driven(early, tmp_path / "early") as driver:
        driver.start(until=time.monotonic() + 60)
        driver.advance()
        begin(series, late)
        with pytest.raises(RefusedError, match="is void"):
            driver.evaluator.evaluate(
                driver.problem.plans(driver.search.ask(driver.now.search, driver._rng)),
                until=time.monotonic() + 60,
            )
        with pytest.raises(RefusedError, match="is void"):
            driver.finish(StopReason.DEADLINE)
        assert driver.plans() == []
    assert series.balances() == [0, 0, 0]


def tour_of(seed: int) -> Problem:
    """Six places of three participants, and ways that differ there and back."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 200, (6, 6)) * np.repeat([1, 2, 4], 2)[:, None]
    np.fill_diagonal(weights, 0)  # which nobody travels, and which must not count as saved
    ways = Objective(
        "ways",
        weights,
        sense="minimize",
        disclosure=parse_disclosure("top:3"),
        best_mode=BestMode.NOTHING,
        weight_bound=1000,
    )
    owners = tuple(Participant(f"participant {k + 1}", (2 * k, 2 * k + 1)) for k in range(3))
    return Tour(
        name="ways", rows=6, columns=6, objectives=(ways,), participants=owners, symmetric=False
    )


def test_a_tour_counts_by_the_ways_that_leave_ones_own_places(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    series = EquitySeries.draft(cluster, problem=tour_of(1), pinned=GENETIC)
    for number in (1, 2):
        made = series.next_run(tour_of(number))
        begin(series, made)
        with driven(made, tmp_path / f"run-{number}") as driver:
            drive(driver, until=time.monotonic() + 60)
            plan = driver.plans()[0]
            check_twin(made, driver)
            assert number == 1 or max(kept_weights(made)[0]) > min(kept_weights(made)[0])
        weights = made.problem.objectives[0].weights
        assert weights is not None
        legs = weights[plan, np.roll(plan, -1)]
        paid = [legs[np.isin(plan, each.rows)].sum() for each in made.problem.participants]
        shape = equity_shape(made.agreement)
        assert plan_costs(weights, columns_of(made.problem, plan), shape).tolist() == paid
        assert not (least_costs(weights, shape) == 0).any()
        series.clear.count(made, plan)
        assert series.balances() == series.expected()
    sealed = changed(tour_of(1).objectives[0], disclosure=parse_disclosure("sealed"))
    moves = pin_sealed(TourParameters(), [(1,)])
    both_ways = changed(tour_of(1), symmetric=None, objectives=(_mirrored(tour_of(1)),))
    for problem, pinned, why in (
        (changed(tour_of(1), objectives=(sealed,)), moves, "by its positions"),
        (both_ways, GENETIC, "there and back differ"),
    ):
        with pytest.raises(AgreementError, match=why):
            EquitySeries.draft(cluster, problem=problem, pinned=pinned)


def _mirrored(problem: Problem) -> Objective:
    weights = problem.objectives[0].weights
    assert weights is not None
    return changed(problem.objectives[0], weights=np.triu(weights) + np.triu(weights).T)
