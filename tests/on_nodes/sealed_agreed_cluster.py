"""Small problems with a sealed run, their agreements, and their twins in the clear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import AssignmentGroup, TourGroup, pin_sealed
from tacit.agreement.terms import Agreement
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.derived import ClearRun
from tacit.disclosure import BestMode, Sealed
from tacit.local.cluster import LocalCluster
from tacit.mpc.local import reveal
from tacit.node.sealed_progress import KeptState
from tacit.node.store import decoder_of
from tacit.problems import (
    Assignment,
    Objective,
    Problem,
    Tour,
    generate_assignment,
    generate_capacitated,
    shipped_problem,
)
from tacit.search import ClearTour, weighted_values
from tacit.search.moves import AssignmentParameters, SealedParameters, TourParameters, TourSchedule
from tests.on_nodes.agreed_cluster import AgreedCluster

TOURS = TourParameters(children=20)
ASSIGNMENTS = AssignmentParameters(generations=10, iterations=490)
"""Many steps, as for tests that end in the midst of them."""


def sealed(problem: Problem, best: str = "nothing") -> Problem:
    objectives = tuple(
        replace(each, disclosure=Sealed(), best_mode=BestMode(best)) for each in problem.objectives
    )
    return replace(problem, objectives=objectives)


def directed_tour() -> Problem:
    weights = np.random.default_rng(4).integers(1, 99, (7, 7))
    return Tour(
        name="one-way", rows=7, columns=7, objectives=(Objective("km", weights, sense="minimize"),)
    )


def partly_forbidden(rows: int = 6, columns: int = 8, seed: int = 5) -> Problem:
    weights = np.random.default_rng(seed).integers(0, 99, (rows, columns))
    forbidden = np.random.default_rng(seed + 1).random((rows, columns)) < 0.4
    return Assignment(
        name="some",
        rows=rows,
        columns=columns,
        objectives=(Objective("pay", weights),),
        forbidden=forbidden,
    )


def symmetric_tour() -> Problem:
    whole = shipped_problem("kroD100").objectives[0]
    assert whole.weights is not None
    near = replace(whole, weights=whole.weights[:12, :12])
    return Tour(name="near", rows=12, columns=12, objectives=(near,))


def with_decimals() -> Problem:
    weights = np.random.default_rng(6).integers(0, 900, (6, 6))
    about = Objective("km", weights, sense="minimize", scale=100, weight_bound=1000)
    return Assignment(name="decimals", rows=6, columns=6, objectives=(about,))


def wide_costs() -> Problem:
    """Costs whose sums need words of 64 bits."""
    weights = np.random.default_rng(3).integers(0, 1 << 30, (6, 6))
    return Assignment(
        name="wide",
        rows=6,
        columns=6,
        objectives=(Objective("pay", weights, weight_bound=1 << 30),),
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "balanced": lambda: generate_assignment(1, rows=7, participants=3),
    "imbalanced": lambda: generate_assignment(3, rows=4, columns=7),
    "forbidden": lambda: partly_forbidden(5, 7, seed=8),
    "capacitated": lambda: replace(
        generate_capacitated(4, rows=5, columns=2, participants=2), capacities=(3, 4)
    ),
    "tour": symmetric_tour,
    "directed": directed_tour,
}


def settings_for(problem: Problem) -> SealedParameters:
    return TOURS if problem.sealed_moves == "tour" else ASSIGNMENTS


def draft(
    cluster: LocalCluster,
    problem: Problem,
    parameters: SealedParameters | None = None,
    **changes: Any,
) -> AgreedCluster:
    """An agreement; `parameters` are short ones unless some are given."""
    parameters = parameters or settings_for(problem)
    weightings = changes.pop("weightings", [(1,) * len(problem.objectives)])
    search = changes.pop("search", pin_sealed(parameters, weightings))
    steps = parameters.steps if isinstance(parameters, AssignmentParameters) else 500
    return AgreedCluster.draft(cluster, problem, pinned=search, **{"evaluations": steps, **changes})


async def begin(agreed: AgreedCluster, coordinator: Coordinator, search: int = 0) -> SealedSearch:
    await coordinator.start(agreed.signatures, agreed.sealed(), within=60)
    sealed_search = SealedSearch(coordinator, search)
    await sealed_search.start(until=None)
    return sealed_search


def assignment_group(agreement: Agreement, search: int = 0) -> AssignmentGroup:
    group = agreement.sealed_run.group_of(search)
    assert isinstance(group, AssignmentGroup)
    return group


def kept_states(agreed: AgreedCluster, step: int, search: int = 0) -> list[KeptState]:
    """What each node keeps of a step, which tells something only if several are put together."""
    name = f"sealed-{search}-{step}"
    return [
        decoder_of(KeptState).decode(agreed.state_on_disk(i, name))
        for i in range(len(agreed.agreement.nodes))
    ]


def start_of(agreed: AgreedCluster, search: int = 0, group: int = 0) -> NDArray[np.intp]:
    """The start: of a tour the place at each position, of an assignment the place of each row."""
    first = reveal([each.shares[0] for each in kept_states(agreed, 0, group)])
    searches = agreed.agreement.sealed_run.group_of(search).searches
    if not agreed.agreement.is_exact:
        return np.asarray(first[..., -1], dtype=np.intp)
    matching = first[searches.index(search)]
    assert matching.sum(axis=0).tolist() == matching.sum(axis=1).tolist() == [1] * len(matching)
    return np.asarray(matching.argmax(axis=0), dtype=np.intp)


class Twin(Protocol):
    """The same run in the clear."""

    def advance(self, count: int, /, *, horizon: int) -> None: ...

    def plan(self) -> list[int]: ...

    @property
    def value(self) -> int: ...

    @property
    def outcome(self) -> str | None: ...


class TourTwin:
    """A tour, from the start that the nodes have drawn."""

    outcome = None

    def __init__(self, schedule: TourSchedule, problem: Problem, factors: Any, start: Any) -> None:
        self.clear = ClearTour(weighted_values(problem, factors), schedule, start)

    def advance(self, count: int, /, *, horizon: int) -> None:
        self.clear.advance(count, horizon=horizon)

    def plan(self) -> list[int]:
        return self.clear.plan()

    @property
    def value(self) -> int:
        return self.clear.value


class AssignmentTwin:
    """One weighting of an assignment, from the start that the nodes have drawn."""

    def __init__(
        self, group: AssignmentGroup, search: int, values: NDArray[np.int64], start: Any
    ) -> None:
        first = tuple(int(place) for place in start)
        assert group.start in (None, first)
        self.search, self.clear = search, ClearRun(replace(group, start=first), search, values)

    def advance(
        self,
        count: int,
        /,
        *,
        horizon: int = 1,  # noqa: ARG002 - the steps do not depend on it
    ) -> None:
        self.clear.advance(count)

    def plan(self) -> list[int]:
        return self.clear.plan()

    @property
    def value(self) -> int:
        return self.clear.value

    @property
    def outcome(self) -> str | None:
        return "optimum" if self.clear.is_proved else "feasible"

    def check_state(self, agreed: AgreedCluster, *, group: int = 0) -> None:
        """Matching, prices and parents of the nodes must be those of the twin, to the bit."""
        state = self.clear.state
        kept = kept_states(agreed, state.step, group)
        searches = agreed.agreement.sealed_run.group_of(self.search).searches
        at, size = searches.index(self.search), len(state.prices)
        matching, prices, parents = (
            reveal([each.shares[k] for each in kept])[at] for k in range(3)
        )
        columns = np.arange(size)
        assert matching[columns, state.row_of].tolist() == [1] * size
        assert matching.sum() == size
        assert prices.tolist() == state.prices.tolist()
        expected = np.zeros((size, size), dtype=np.int64)
        has_parent = state.parents != columns
        expected[columns[has_parent], state.parents[has_parent]] = 1
        assert (parents & 1).tolist() == expected.tolist()


def twin(agreed: AgreedCluster, seed: int, search: int = 0, *, group: int = 0) -> Twin:
    """The twin of a run whose start is still on the nodes' disks; see `start_of`."""
    run = agreed.agreement.sealed_run
    public, factors = run.group_of(search).seeded(seed), run.weightings[search]
    start = start_of(agreed, search, group)
    if isinstance(public, TourGroup):
        return TourTwin(public.schedule, agreed.problem, factors, start)
    assert isinstance(public, AssignmentGroup)
    return AssignmentTwin(public, search, weighted_values(agreed.problem, factors), start)


def assignment_twin(
    agreed: AgreedCluster, seed: int, search: int = 0, *, group: int = 0
) -> AssignmentTwin:
    """The same of an assignment, whose states can be compared."""
    made = twin(agreed, seed, search, group=group)
    assert isinstance(made, AssignmentTwin)
    return made
