"""Algorithm 1 against a slow copy of it, by disclosed groups, and warmed up."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Assignment, Problem, Tour, generate_assignment, shipped_problem
from tacit.runs import Limits, with_disclosures
from tacit.search import PRESETS, Evolution, SearchParameters, SearchState
from tacit.search.crossover import crossovers
from tacit.search.evolution import DisclosedGroups, selection_scheme
from tacit.search.mutation import mutations
from tests.runs.flat import solve_with
from tests.support.simulated import solve


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def actual(problem: Problem, genomes: NDArray[np.int32]) -> NDArray[np.float64]:
    plans = problem.plans(genomes)
    fitness = [problem.fitness(k, plans) for k in range(len(problem.objectives))]
    return np.stack(fitness, axis=1).astype(np.float64)


def evolve(
    problem: Problem, parameters: SearchParameters, *, generations: int, seed: int = 1
) -> tuple[list[NDArray[np.int32]], list[SearchState]]:
    """Every asked set, and every state after it."""
    search, rng = Evolution(problem, parameters), generator(seed)
    state = search.start()
    asked, states = [], []
    for _ in range(generations + 1):
        genomes = search.ask(state, rng)
        state = search.tell(state, genomes, actual(problem, genomes), rng)
        asked.append(genomes)
        states.append(state)
    return asked, states


def preset_problem(preset: str) -> Problem:
    if preset == "paper-tsp":
        return shipped_problem("kroD100")
    return generate_assignment(1, objectives=2 if preset == "paper-moap" else 1)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_evaluate_mu_first_and_300_from_then_on_and_mu_survive(preset: str) -> None:
    parameters = PRESETS[preset]
    asked, states = evolve(preset_problem(preset), parameters, generations=3)
    assert [len(genomes) for genomes in asked] == [parameters.population, 300, 300, 300]
    assert [len(state.genomes) for state in states] == [parameters.population] * 4
    assert [state.generation for state in states] == [0, 1, 2, 3]


@pytest.mark.parametrize("elites", [0, 1, 3, 19])
@pytest.mark.parametrize("reevaluate_parents", [True, False])
@pytest.mark.parametrize("algorithm", ["genetic", "nsga2"])
def test_the_evaluated_set_is_offspring_then_elites_then_parents(
    small_assignment: Assignment,
    small_search: SearchParameters,
    elites: int,
    reevaluate_parents: bool,
    algorithm: str,
) -> None:
    parameters = small_search.with_changes(
        elites=elites, reevaluate_parents=reevaluate_parents, algorithm=algorithm
    )
    asked, states = evolve(small_assignment, parameters, generations=5)
    for before, genomes, after in zip(states, asked[1:], states[1:], strict=False):
        offspring = 20 - elites
        assert len(genomes) == parameters.evaluated_per_generation
        assert len(genomes) == 20 + (20 if reevaluate_parents else 0)
        assert (genomes[offspring : offspring + elites] == before.genomes[:elites]).all()
        if reevaluate_parents:
            assert (genomes[offspring + elites :] == before.genomes).all()
        assert len(after.genomes) == 20
        everyone = {tuple(genome) for genome in genomes.tolist()}
        assert all(tuple(genome) in everyone for genome in after.genomes.tolist())


def test_survivors_are_the_best_first_and_elites_make_the_best_never_fall(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    asked, states = evolve(small_assignment, small_search, generations=30)
    best = [state.estimates[0, 0] for state in states]
    for genomes, state in zip(asked, states, strict=True):
        column = state.estimates[:, 0]
        assert (np.diff(column) <= 0).all()
        assert (actual(small_assignment, state.genomes)[:, 0] == column).all()
        evaluated = np.sort(actual(small_assignment, genomes)[:, 0])[::-1]
        assert (column == evaluated[:20]).all(), "exactly the best mu survive"
    assert best == sorted(best)
    assert best[-1] > best[0]


def test_without_elites_and_parents_the_best_may_be_lost(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    _, states = evolve(small_assignment, small_search.with_changes(elites=0), generations=40)
    best = [float(state.estimates[0, 0]) for state in states]
    assert best != sorted(best)


def test_an_odd_number_of_offspring_is_made_of_whole_pairs(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    asked, _ = evolve(small_assignment, small_search.with_changes(elites=5), generations=1)
    assert len(asked[1]) == 20
    assert (
        len(Evolution(small_assignment, small_search.with_changes(elites=5)).start().genomes) == 0
    )


def test_without_crossover_and_mutation_offspring_are_copies(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    copying = small_search.with_changes(crossover_percent=0, mutation_percent=0)
    asked, states = evolve(small_assignment, copying, generations=3)
    for before, genomes in zip(states, asked[1:], strict=False):
        parents = {tuple(genome) for genome in before.genomes.tolist()}
        assert all(tuple(genome) in parents for genome in genomes.tolist())


def test_mutation_of_all_leaves_no_offspring_a_copy_of_its_parent(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    mutating = small_search.with_changes(crossover_percent=0, mutation_percent=100, elites=0)
    asked, states = evolve(small_assignment, mutating, generations=1)
    parents = states[0].genomes
    # A swap changes two places of the parent, so it is nearest to a parent at distance two.
    for child in asked[1]:
        assert min((child != parent).sum() for parent in parents) == 2


def test_told_states_are_not_changed_by_asking(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    search, rng = Evolution(small_assignment, small_search), generator()
    first = search.ask(search.start(), rng)
    state = search.tell(search.start(), first, actual(small_assignment, first), rng)
    before = state.genomes.copy()
    search.ask(state, rng)
    assert (state.genomes == before).all()


@pytest.mark.parametrize("crossover", sorted(crossovers()))
@pytest.mark.parametrize("mutation", sorted(mutations()))
def test_the_same_seed_gives_the_same_search_and_another_one_another(
    small_assignment: Assignment, small_search: SearchParameters, crossover: str, mutation: str
) -> None:
    parameters = small_search.with_changes(crossover=crossover, mutation=mutation)
    one, _ = evolve(small_assignment, parameters, generations=4, seed=5)
    same, _ = evolve(small_assignment, parameters, generations=4, seed=5)
    other, _ = evolve(small_assignment, parameters, generations=4, seed=6)
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert not all((a == b).all() for a, b in zip(one, other, strict=True))
    for genomes in one:
        assert (np.sort(genomes, axis=1) == np.arange(12)).all()


def test_runs_with_one_seed_start_from_the_same_population_whatever_the_operators(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    starts = []
    for changes in ({}, {"crossover": "edge", "mutation": "scramble"}, {"algorithm": "nsga2"}):
        search = Evolution(small_assignment, small_search.with_changes(**changes))
        starts.append(search.ask(search.start(), generator(8)).tolist())
    assert starts[0] == starts[1] == starts[2]


@pytest.mark.parametrize("rows", [1, 2, 7, 9])
def test_fewer_rows_than_columns_permute_all_columns(
    rows: int, small_search: SearchParameters
) -> None:
    problem = generate_assignment(2, rows=rows, columns=9)
    asked, states = evolve(problem, small_search, generations=10)
    assert all((np.sort(genomes, axis=1) == np.arange(9)).all() for genomes in asked)
    problem.check_plan(problem.plans(states[-1].genomes)[0].tolist())


def test_a_single_row_and_column_is_no_trouble(small_search: SearchParameters) -> None:
    problem = generate_assignment(2, rows=1)
    for crossover in crossovers():
        for mutation in mutations():
            parameters = small_search.with_changes(crossover=crossover, mutation=mutation)
            asked, _ = evolve(problem, parameters, generations=2)
            assert all((genomes == 0).all() for genomes in asked)


@pytest.mark.parametrize("crossover", sorted(crossovers()))
def test_forbidden_pairs_are_never_evaluated(
    small_forbidden: Assignment, small_search: SearchParameters, crossover: str
) -> None:
    parameters = small_search.with_changes(crossover=crossover, mutation="scramble")
    asked, _ = evolve(small_forbidden, parameters, generations=12)
    for genomes in asked:
        for plan in small_forbidden.plans(genomes).tolist():
            small_forbidden.check_plan(plan)


def test_two_objectives_keep_the_first_front_and_its_ends(
    small_two_objectives: Assignment, small_search: SearchParameters
) -> None:
    parameters = replace(PRESETS["paper-moap"], population=20)
    _, states = evolve(small_two_objectives, parameters, generations=15)
    for before, after in pairwise(states):
        assert (np.diff(after.front_of) >= 0).all()
        # Parents compete again, so the best of each objective never falls.
        assert (after.estimates.max(axis=0) >= before.estimates.max(axis=0)).all()
    last = states[-1]
    front = last.estimates[last.estimated_best()]
    for point in front:
        assert not (
            (last.estimates >= point).all(axis=1) & (last.estimates > point).any(axis=1)
        ).any()


def test_one_objectives_estimated_best_are_all_that_share_the_largest_estimate() -> None:
    genomes = np.array([[0, 1], [1, 0], [0, 1]], dtype=np.int32)
    estimates = np.array([[5.0], [5.0], [4.0]])
    state = SearchState(3, genomes, estimates, np.zeros(3, dtype=np.int32), np.zeros(3))
    assert state.estimated_best().tolist() == [0, 1]


def test_the_genetic_algorithm_refuses_several_objectives(
    small_two_objectives: Assignment, small_search: SearchParameters
) -> None:
    with pytest.raises(ParameterError, match=r"takes one objective and .* has 2; use nsga2"):
        Evolution(small_two_objectives, small_search)


def test_tours_are_searched_like_assignments(
    small_tour: Tour, small_search: SearchParameters
) -> None:
    _, states = evolve(
        small_tour,
        small_search.with_changes(crossover="edge", mutation="inversion"),
        generations=30,
    )
    assert states[-1].estimates[0, 0] > states[0].estimates[0, 0]
    small_tour.check_plan(states[-1].genomes[0].tolist())


TWO = PRESETS["paper-moap"].with_changes(population=20, tournament=3)


def test_the_best_groups_survive_and_win_tournaments() -> None:
    scheme = DisclosedGroups(entrants=2)
    groups = np.array([2, 0, 1, 0, 2, 1])
    estimates = np.repeat(-groups[:, None].astype(float), 2, axis=1)
    genomes = np.arange(6, dtype=np.int32)[:, None]
    order = np.array([[5, 4, 3, 2, 1, 0]], dtype=np.int32)
    state = scheme.survivors(genomes, estimates, order, 4)
    assert state.genomes[:, 0].tolist() == [3, 1, 5, 2]
    assert state.front_of.tolist() == [0, 0, 1, 1]
    assert state.estimated_best().tolist() == [0, 1]
    last, first = 2**32 - 1, 0
    words = np.array([[last, first], [first, last], [last, last]], dtype=np.uint32)
    assert scheme.parents(state, words).tolist() == [0, 0, 3]


def test_of_a_whole_order_all_survivors_are_the_best_set() -> None:
    """One plan alone would be no front."""
    estimates = -np.array([[3.0, 3.0], [0.0, 0.0], [2.0, 2.0], [1.0, 1.0]])
    order = np.array([[0, 1, 2, 3]], dtype=np.int32)
    state = DisclosedGroups(2).survivors(np.zeros((4, 1), np.int32), estimates, order, 3)
    assert state.estimates[:, 0].tolist() == [0, -1, -2]
    assert state.estimated_best().tolist() == [0, 1, 2]


def test_it_is_chosen_where_objectives_are_evaluated_together() -> None:
    problem = generate_assignment(1, rows=5, objectives=2)
    assert selection_scheme(TWO, together=True) == DisclosedGroups(3)
    together = Evolution(with_disclosures(problem, "pareto:order", None), TWO)
    assert together._scheme == DisclosedGroups(3)
    assert Evolution(problem, TWO)._scheme != DisclosedGroups(3)


@pytest.mark.parametrize("disclose", ["pareto:order", "pareto:quantiles:5", "pareto:top:6"])
def test_it_finds_better_plans_in_both_objectives(disclose: str) -> None:
    problem = generate_assignment(3, rows=12, objectives=2)
    result = solve_with(problem, disclose=disclose, parameters=TWO, generations=40, seed=1)
    first, last = (np.array(result.history.actual_mean)[k] for k in (0, -1))
    assert (last > 1.15 * first).all()
    sizes = set(result.history.set_size)
    assert sizes <= ({20} if disclose.endswith("order") else {4, 6, 8})


def test_the_same_seed_gives_the_same_run() -> None:
    problem = generate_assignment(3, rows=9, objectives=3)
    runs = [
        solve(
            problem,
            disclose="pareto:quantiles:4",
            settings=SearchParameters(
                algorithm="nsga2", population=12, elites=0, reevaluate_parents=True, tournament=2
            ),
            limits=Limits(generations=5),
            seed=2,
            engine="simulated",
        ).to_json(timing=False)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


PROBE = """
import json, os, sys
from dataclasses import replace
from numba.core.dispatcher import Dispatcher
from tacit.problems import generate_assignment, generate_tour
from tacit.runs import EngineChoice, Limits, solve
from tacit.search.evolution import warm_up

def signatures():
    import gc
    return {f"{d.py_func.__module__}.{d.py_func.__name__}": len(d.signatures)
            for d in gc.get_objects() if isinstance(d, Dispatcher)}

def measuring(problem, parameters):
    warm_up(problem, parameters)
    before.update(signatures())

sys.modules["tacit.runs.evaluating_local"].warm_up = measuring  # the name is also a function's
before = {}
wide = generate_assignment(1, rows=5, columns=9)
for problem, engine in (
    (wide, "nodes"),
    (replace(wide, optimum=4000), "simulated"),
    (generate_tour(1, cities=9), "simulated"),
    (generate_assignment(1, rows=9, objectives=2), "simulated"),
):
    # In a process of its own, in which no other search has compiled anything.
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    choice = EngineChoice(engine=engine)
    solve(problem, disclose="order", limits=Limits(generations=30), engine=choice)
    assert before, "nothing was warmed up"
    late = {name: count for name, count in signatures().items() if count > before.get(name, 0)}
    print(json.dumps(late), flush=True)
    os._exit(0)
"""


@pytest.mark.processes
def test_nothing_is_compiled_once_the_clock_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=300
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{}] * 4, done.stderr
