"""Generations per second of tacit and of pymoo on the same work, in one process and one run.

    python -m studies.benchmarks.search            a table
    python -m studies.benchmarks.search --json FILE    {"ratio": {"order_inversion": ..., ...}, ...}

Population 300 on 100 cities with order crossover and inversion, and with edge recombination and
inversion; NSGA-II with 150 on a 100x100 assignment with two objectives. Every offspring is
recombined and mutated in both, 300 offspring are made per generation (150 by NSGA-II), and binary
tournaments choose the parents. The two take turns, so that a busy machine slows both; medians
over the turns. Both results are checked: each plan must be feasible, and each reported value
must be what the plan is worth by plain arithmetic.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.algorithm import Algorithm
from pymoo.core.problem import Problem as PymooProblem
from pymoo.operators.crossover.erx import ERX
from pymoo.operators.crossover.ox import OrderCrossover
from pymoo.operators.mutation.inversion import InversionMutation
from pymoo.operators.sampling.rnd import PermutationRandomSampling

from studies.benchmarks.measuring import options_of, write_json
from tacit.disclosure import linear
from tacit.problems import Problem, generate_assignment, shipped_problem
from tacit.runs import EvaluatingDriver, Limits, drive, simulated_evaluator
from tacit.search import SearchParameters
from tacit.search.evolution import warm_up

TURNS = 5


@dataclass(frozen=True)
class Work:
    """One thing that both libraries do, and for how many generations per turn."""

    name: str
    problem: Problem
    parameters: SearchParameters
    peer: Callable[[], Algorithm]
    tacit_generations: int
    pymoo_generations: int


def all_work() -> list[Work]:
    """The three measurements that the ratios are about."""
    cities, assignment = shipped_problem("kroD100"), generate_assignment(1, objectives=2)
    genetic = SearchParameters(
        population=300,
        elites=0,
        tournament=2,
        crossover="order",
        crossover_percent=100,
        mutation="inversion",
    )
    nsga2 = genetic.with_changes(algorithm="nsga2", population=150, reevaluate_parents=True)

    def peer_genetic(crossover: Callable[[], object]) -> Callable[[], Algorithm]:
        return lambda: GA(
            pop_size=300,
            sampling=PermutationRandomSampling(),
            crossover=crossover(),
            mutation=InversionMutation(),
            eliminate_duplicates=False,
        )

    def peer_nsga2() -> Algorithm:
        return NSGA2(
            pop_size=150,
            sampling=PermutationRandomSampling(),
            crossover=OrderCrossover(prob=1.0),
            mutation=InversionMutation(),
            eliminate_duplicates=False,
        )

    return [
        Work("order_inversion", cities, genetic,
             peer_genetic(lambda: OrderCrossover(prob=1.0)), 500, 12),
        Work("edge_inversion", cities, genetic.with_changes(crossover="edge"),
             peer_genetic(lambda: ERX(prob=1.0)), 500, 4),
        Work("nsga2", assignment, nsga2, peer_nsga2, 500, 25),
    ]  # fmt: skip


class PymooTwin(PymooProblem):  # type: ignore[misc]
    """The same problem for pymoo, which minimizes."""

    def __init__(self, problem: Problem) -> None:
        self.twin = problem
        super().__init__(
            n_var=problem.genome_length,
            n_obj=len(problem.objectives),
            xl=0,
            xu=problem.genome_length - 1,
            vtype=int,
        )

    def _evaluate(
        self, X: NDArray[np.int64], out: dict[str, object], *_: object, **__: object
    ) -> None:
        plans = X.astype(np.int32)
        columns = [-self.twin.fitness(k, plans) for k in range(self.n_obj)]
        out["F"] = np.stack(columns, axis=1).astype(np.float64)


def tacit_seconds(work: Work, turn: int) -> float:
    """Seconds per generation of tacit."""
    run = EvaluatingDriver(
        work.problem,
        work.parameters,
        simulated_evaluator(work.problem, linear),
        seed=turn,
        limits=Limits(generations=work.tacit_generations),
    )
    started = time.perf_counter()
    drive(run)
    seconds = (time.perf_counter() - started) / (work.tacit_generations + 1)
    state = run.now.search
    check_values(work.problem, state.genomes, state.estimates)
    return seconds


def pymoo_seconds(work: Work, turn: int) -> float:
    """Seconds per generation of pymoo."""
    algorithm = work.peer()
    algorithm.setup(PymooTwin(work.problem), termination=("n_gen", 10**9), seed=turn, verbose=False)
    algorithm.next()
    started = time.perf_counter()
    for _ in range(work.pymoo_generations):
        algorithm.next()
    seconds = (time.perf_counter() - started) / work.pymoo_generations
    check_values(work.problem, algorithm.pop.get("X").astype(np.int32), -algorithm.pop.get("F"))
    return seconds


def check_values(
    problem: Problem, genomes: NDArray[np.int32], reported: NDArray[np.float64]
) -> None:
    """Refuse to measure anything that computes something else."""
    for genome, values in zip(genomes.tolist(), reported, strict=True):
        problem.check_plan(genome)
        for objective, value in zip(problem.objectives, values, strict=True):
            weights = objective.weights
            if weights is None:
                raise RuntimeError("the benchmark needs the weights")
            if problem.kind == "tour":
                legs = zip(genome, genome[1:] + genome[:1], strict=True)
            else:
                legs = zip(range(problem.rows), genome, strict=True)
            worth = objective.sign * sum(int(weights[a, b]) for a, b in legs)
            if worth != value:
                raise RuntimeError(f"reported {value}, worth {worth}")


def measure() -> dict[str, dict[str, float]]:
    """Measure everything."""
    report: dict[str, dict[str, float]] = {
        "ratio": {},
        "tacit_generations_per_second": {},
        "pymoo_generations_per_second": {},
        "tacit_ms_per_generation": {},
    }
    for work in all_work():
        warm_up(work.problem, work.parameters)
        turns = [(tacit_seconds(work, turn), pymoo_seconds(work, turn)) for turn in range(TURNS)]
        ours, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
        report["ratio"][work.name] = statistics.median(b / a for a, b in turns)
        report["tacit_generations_per_second"][work.name] = 1 / ours
        report["pymoo_generations_per_second"][work.name] = 1 / theirs
        report["tacit_ms_per_generation"][work.name] = 1000 * ours
    return report


def main() -> None:
    parser = options_of(__file__, __doc__)
    path = parser.parse_args().json
    report = measure()
    write_json(path, report)
    print(f"{'':16} {'tacit':>12} {'pymoo':>12} {'ratio':>8}   generations per second")
    for name, ratio in report["ratio"].items():
        ours = report["tacit_generations_per_second"][name]
        theirs = report["pymoo_generations_per_second"][name]
        print(f"{name:16} {ours:12.1f} {theirs:12.2f} {ratio:8.0f}")


if __name__ == "__main__":
    main()
