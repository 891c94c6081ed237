"""Small problems with a sealed search, their agreements, and their twins in the clear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import BestMode, Sealed
from tacit.engine.agreement.sealed import course_of, pin_sealed, sealed_terms
from tacit.engine.agreement.terms import agreement_hash
from tacit.engine.coordinator.coordinator import Coordinator
from tacit.engine.coordinator.sealed_search import SealedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.node.state.sealed_progress import _from_bytes
from tacit.engine.node.state.store import cipher_of_states
from tacit.mpc.local import reveal
from tacit.problems import (
    Assignment,
    Objective,
    Problem,
    Tour,
    generate_assignment,
    generate_capacitated,
    shipped_problem,
)
from tacit.search.moves import Schedule, SealedParameters
from tacit.search.sealed import ClearSealedSearch, value_table
from tests.engine.agreed_cluster import AgreedCluster

SETTINGS = SealedParameters(block=4, children=20)


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


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "balanced": lambda: generate_assignment(1, rows=12, participants=3),
    "imbalanced": lambda: generate_assignment(2, rows=5, columns=11),
    "forbidden": partly_forbidden,
    "capacitated": lambda: generate_capacitated(4, rows=9, columns=3, participants=2),
    "tour": symmetric_tour,
    "directed": directed_tour,
}

SEVEN: dict[str, Callable[[], Problem]] = {
    # Proved by its second phase whatever the tie-breaks are, and not by its first.
    "balanced": lambda: generate_assignment(1, rows=7, participants=3),
    "imbalanced": lambda: generate_assignment(3, rows=4, columns=7),
    "forbidden": lambda: partly_forbidden(5, 7, seed=8),
    "capacitated": lambda: replace(
        generate_capacitated(4, rows=5, columns=2, participants=2), capacities=(3, 4)
    ),
}
"""For the exact solver: with more than seven rows and columns a phase takes 190 rounds, not 124."""


def draft(cluster: LocalCluster, problem: Problem, **changes: Any) -> AgreedCluster:
    weightings = changes.pop("weightings", [(1,) * len(problem.objectives)])
    search = changes.pop("search", pin_sealed(SETTINGS, weightings))
    return AgreedCluster.draft(cluster, problem, pinned=search, **{"evaluations": 500, **changes})


async def begin(agreed: AgreedCluster, coordinator: Coordinator, search: int = 0) -> SealedSearch:
    await coordinator.start(agreed.signatures, agreed.sealed(), within=60)
    sealed_search = SealedSearch(coordinator, search)
    await sealed_search.start(until=None)
    return sealed_search


def start_of(agreed: AgreedCluster, search: int = 0) -> NDArray[np.intp]:
    """The secret start, which only the files of several nodes together tell."""
    folder = agreement_hash(agreed.agreement).hex()[:32]
    name = f"sealed-{search}-0"
    states = [
        _from_bytes(
            cipher_of_states(agreed.sealing_key(i)).decrypt(
                (agreed.cluster.folder / f"node-{i}.data" / folder / name).read_bytes()
            )
        )
        for i in range(len(agreed.agreement.nodes))
    ]
    ids = reveal([each.shares[0] for each in states if each is not None])[..., -1].astype(np.intp)
    # Items of one column are alike, so the first of them may stand first.
    items = np.argsort(agreed.problem.sealed_items, kind="stable")
    start = np.empty_like(ids)
    for line, order in zip(start, ids, strict=True):
        line[np.argsort(order, kind="stable")] = items
    return start


def twin(
    agreed: AgreedCluster, start: NDArray[np.intp], seed: int, search: int = 0
) -> ClearSealedSearch:
    schedule = course_of(agreed.agreement, search, seed=seed)
    assert isinstance(schedule, Schedule)
    factors = sealed_terms(agreed.agreement).weightings[search]
    return ClearSealedSearch(
        value_table(agreed.problem, factors), schedule, start, agreed.problem.sealed_items
    )
