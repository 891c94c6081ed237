"""Real nodes, equity, and ranks that the platform is told: the twin's plan, counted once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.agreement import equity_shape, pin_sealed, plan_digest
from tacit.derived import agreed_parameters
from tacit.disclosure import BestMode, estimator_named, parse_disclosure
from tacit.equity import columns_of, least_costs, plan_costs
from tacit.errors import AgreementError, LogError, RefusedError
from tacit.evaluators import SeparateObjectives, SimulatedObjective
from tacit.local.cluster import LocalCluster
from tacit.problems import Objective, Participant, Problem, Tour
from tacit.records.events import RunCounted
from tacit.records.messages import CountRun
from tacit.records.requests import NO_ATTEMPT, pack_candidates, request_hash
from tacit.runs import Agreed, Limits, StopReason, agreed_driver, drive
from tacit.runs.agreed import AgreedEvaluating
from tacit.runs.evaluating import EvaluatingDriver
from tacit.search.moves import TourParameters
from tacit.verify import Claim, check_counted
from tests.on_nodes.agreed_cluster import AgreedCluster, outcomes, run
from tests.on_nodes.equity_series import GENETIC, EquitySeries, hand_over, problem_of
from tests.on_nodes.test_equity import kept_weights, replace_weights

pytestmark = pytest.mark.processes


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
        plan, others = driver.plans()[0], driver.plans()[1:]
        following = driver.problem.plans(driver.search.ask(driver.now.search, driver._rng))
    series.clear.count(made, plan)
    assert others
    run(refused(count(others[0]), "counted with another plan"))
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
