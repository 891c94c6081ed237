"""The contract of every kind: cells, feasible plans, bounds, one spelling, files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacit.agreement.terms import canonical
from tacit.errors import FileError, ProblemError
from tacit.problems import (
    CapacitatedAssignment,
    Objective,
    Problem,
    Routing,
    generate_assignment,
    generate_capacitated,
    generate_routing,
    generate_tour,
    kind_named,
    load_problem,
    optimum,
    problem_without_weights,
    public_problem,
    save_problem,
)

DRAWN: dict[str, Callable[[int], Problem]] = {
    "assignment": lambda seed: generate_assignment(seed, rows=5, columns=7),
    "tour": lambda seed: generate_tour(seed, cities=6),
    "capacitated": lambda seed: replace(
        generate_capacitated(seed, rows=6, columns=3), capacities=(1, 4, 2)
    ),
    "routing": lambda seed: generate_routing(seed, places=7, vehicles=3),
}
kinds = pytest.mark.parametrize("kind", DRAWN)


def drawn_plans(problem: Problem, seed: int, count: int = 30) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    genomes = np.tile(np.arange(problem.genome_length, dtype=np.int32), (count, 1))
    return np.ascontiguousarray(problem.plans(rng.permuted(genomes, axis=1)))


def cell_counts(problem: Problem, plan: np.ndarray[Any, Any]) -> Counter[tuple[int, int]]:
    """The cells of one plan, each as often as it counts, found with nothing but loops."""
    parts = problem.cells(plan[None])
    given = [part for part in parts if part is not None]
    lines = zip(*(part[0].tolist() for part in np.broadcast_arrays(*given)), strict=True)
    found: Counter[tuple[int, int]] = Counter()
    for row, column, *factor in lines:
        cell = (row, column)
        if problem.is_symmetric:
            cell = (min(cell), max(cell))
        found[cell] += factor[0] if factor else 1
    return +found


@kinds
@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_decoded_plans_are_feasible_and_within_the_bound(kind: str, seed: int) -> None:
    problem = DRAWN[kind](seed)
    plans = drawn_plans(problem, seed)
    assert plans.shape[1] == problem.plan_length
    assert problem.fault(plans) is None
    largest = np.full((problem.rows, problem.columns), problem.objectives[0].weight_bound)
    assert problem.cell_sums(largest, plans).max() <= problem.fitness_bound(0)
    factors = problem.cells(plans).factors
    assert factors is None or factors.min() >= 0


@kinds
@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_the_fast_sums_are_those_of_the_cells(kind: str, seed: int) -> None:
    problem = DRAWN[kind](seed)
    plans, weights = drawn_plans(problem, seed), problem.objectives[0].weights
    assert weights is not None
    by_hand = [
        sum(weights[cell] * times for cell, times in cell_counts(problem, plan).items())
        for plan in plans
    ]
    assert problem.sums(weights, plans).tolist() == by_hand
    assert problem.cell_sums(weights, plans).tolist() == by_hand


@kinds
@pytest.mark.parametrize("symmetric", [False, True])
@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_plans_are_the_same_exactly_if_they_add_up_the_same_cells(
    kind: str, symmetric: bool, seed: int
) -> None:
    problem = DRAWN[kind](seed)
    if problem.between_places:
        problem = replace(problem, symmetric=symmetric)
    plans = drawn_plans(problem, seed, count=60)
    spelled = {line.tobytes() for line in np.ascontiguousarray(problem.canonical(plans))}
    assert len(spelled) == len({frozenset(cell_counts(problem, p).items()) for p in plans})


def test_routes_are_the_same_whichever_vehicle_drives_them_and_in_which_direction() -> None:
    problem = generate_routing(1, places=6, vehicles=3)
    plans = np.array([[0, 1, 2, 0, 3, 4, 5, 0], [0, 0, 5, 4, 3, 0, 1, 2], [0, 2, 1, 0, 5, 0, 3, 4]])
    first, second, other = problem.canonical(plans).tolist()
    assert first == second != other
    one_way = replace(problem, symmetric=False)
    assert len({tuple(line) for line in one_way.canonical(plans).tolist()}) == 3


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ([0, 3, 0, 1, 2], "more than it takes"),
        ([1, 0, 2, 0, 3], "begin each route at the depot"),
        ([0, 1, 1, 0, 3], "each customer once"),
        ([0, 1, 2, 3, 0, 0], "6 entries in place of 5"),
        ([0, 1, 2, 0, 4], "does not exist"),
    ],
)
def test_infeasible_routes_are_refused(plan: list[int], why: str) -> None:
    length = Objective("km", None, weight_bound=9, sense="minimize")
    problem = Routing(
        name="r", rows=4, columns=4, objectives=(length,), demands=(0, 2, 3, 1), capacities=(5, 4)
    )
    problem.check_plan([0, 1, 2, 0, 3])
    with pytest.raises(ProblemError, match=why):
        problem.check_plan(plan)


@given(seed=st.integers(0, 10**6), tight=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_every_genome_of_a_tight_routing_is_decoded_to_routes_that_fit(
    seed: int, tight: int
) -> None:
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, 9, 9)
    vehicle = rng.integers(0, 3, 9)
    loads = np.bincount(vehicle, demands, minlength=3).astype(int) + tight
    objectives = (Objective("km", None, weight_bound=9),)
    try:
        problem = Routing(
            name="r", rows=10, columns=10, objectives=objectives,
            demands=(0, *demands.tolist()), capacities=tuple(loads.tolist()),
        )  # fmt: skip
    except ProblemError:
        assume(False)  # Packing is hard: a tight one may be refused.
    assert problem.fault(drawn_plans(problem, seed)) is None


def test_a_column_takes_as_many_rows_as_it_can_and_no_more() -> None:
    pay = Objective("pay", np.array([[9, 1], [8, 2], [7, 6]]))
    problem = CapacitatedAssignment(
        name="c", rows=3, columns=2, objectives=(pay,), capacities=(2, 1)
    )
    best = optimum(problem)
    assert best is not None
    assert (best.value, best.plan) == (23, (0, 0, 1))
    assert problem.genome_length == 3
    with pytest.raises(ProblemError, match="more rows than it takes"):
        problem.check_plan([0, 0, 0])
    with pytest.raises(ProblemError, match="take 2 in all"):
        replace(problem, capacities=(1, 1))
    mask = np.array([[False, True], [False, True], [False, True]])
    with pytest.raises(ProblemError, match="leave no way"):
        replace(problem, forbidden=mask)


@kinds
def test_files_keep_all_that_is_public_of_a_kind(kind: str, tmp_path: Path) -> None:
    problem = DRAWN[kind](3)
    save_problem(problem, tmp_path / "p.json")
    read = load_problem(tmp_path / "p.json")
    assert type(read) is type(problem)
    assert read.data == problem.data
    assert public_problem(read) == public_problem(problem)
    weights = read.objectives[0].weights, problem.objectives[0].weights
    assert np.array_equal(*weights)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "more", "why"),
    [
        ("capacitated", {}, "the field 'capacities' is missing"),
        ("capacitated", {"capacities": [1.5, 1]}, "expected a whole number"),
        ("capacitated", {"capacities": [1]}, "capacities has 1 numbers; give 2"),
        ("assignment", {"capacities": [1, 1]}, "the field 'capacities' is unknown"),
        ("routing", {"demands": [1, 1], "capacities": [3]}, "the depot, place 0, has a demand"),
        ("routing", {"demands": [0, 5], "capacities": [3]}, "no way was found to load"),
        ("routing", {"demands": [0, -5], "capacities": [3]}, "demands has -5 at place 1"),
        ("routing", {"demands": [0, 1], "capacities": []}, "0 vehicles"),
    ],
)
def test_files_with_wrong_data_get_one_line(
    kind: str, more: dict[str, Any], why: str, tmp_path: Path
) -> None:
    objective = {"name": "o", "weights": [[0, 1], [1, 0]]}
    content = {"format": "tacit-problem/1", "kind": kind, "objectives": [objective], **more}
    (tmp_path / "p.json").write_bytes(msgspec.json.encode(content))
    with pytest.raises(FileError, match=why):
        load_problem(tmp_path / "p.json")


def test_the_public_part_names_the_version_and_the_data_of_its_kind() -> None:
    written = canonical(public_problem(generate_tour(1, cities=3)))
    assert written == (
        b'{"column_names":null,"columns":3,"data":{},"forbidden":[],"kind":"tour",'
        b'"name":"tour1K3","row_names":null,"rows":3,"symmetric":true,"version":1}'
    )
    capacitated = canonical(public_problem(generate_capacitated(1, rows=4, columns=2)))
    assert b'"data":{"capacities":[3,3]}' in capacitated


def test_an_unknown_kind_version_or_datum_is_refused() -> None:
    with pytest.raises(ProblemError, match="the kind 'knapsack' is unknown here"):
        kind_named("knapsack")
    with pytest.raises(ProblemError, match="in version 1, not 2"):
        kind_named("routing", 2)
    public = public_problem(generate_tour(1, cities=3))
    objectives = (Objective("km", None, weight_bound=9),)
    more = msgspec.structs.replace(public, data={"capacities": [1]})
    with pytest.raises(ProblemError, match="has no data, not 'capacities'"):
        problem_without_weights(more, objectives)


def test_plans_are_told_in_the_names_of_the_problem() -> None:
    problem = generate_routing(1, places=4, vehicles=3)
    problem = replace(problem, row_names=("depot", "a", "b", "c"))
    plan = [0, 2, 0, 0, 3, 1]
    assert problem.named_plan(plan) == [
        ("depot", "b"), ("b", "depot"), ("depot", "c"), ("c", "a"), ("a", "depot"),
    ]  # fmt: skip
    assert problem.listed(plan) == [(0, 2), (2, 3), (2, 1)]


def test_a_kind_that_two_packages_bring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("mine", f"package_{k}:Mine", "tacit.kinds") for k in (1, 2)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)
    with pytest.raises(ProblemError, match="package_1:Mine and package_2:Mine both bring"):
        kind_named("mine")
