"""Measure what a platform recovers under `top:15` if it may choose or steer what is evaluated.

    python -m studies.benchmarks.steered  a table, about ten minutes
    python -m studies.benchmarks.steered --json FILE  also to a file
    python -m studies.benchmarks.steered --only agreed --evaluations 1000  what 10 s allow

Nodes could check that each population may follow from the one before, without knowing what was
disclosed. Then a platform would be free to say who won the tournaments: `steered` rows claim that
winners were drawn at random, or that the worst won. Nodes that derive each population leave it
only the agreed search. Correlation of the recovered matrix with the secret one, uniform weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.benchmarks.measuring import options_of, write_json
from tacit.audit.measure import as_matrix, centred, cosine
from tacit.audit.recording import Recorder
from tacit.audit.unfaithful_platform import answered, random_plans, recover_from
from tacit.audit.view import View, view_of
from tacit.disclosure import BestMode, Disclosure, linear, parse_disclosure
from tacit.problems import Problem, generate_assignment
from tacit.runs import Limits, drive, simulated_driver
from tacit.search import PRESETS, Evolution, SearchParameters

Claim = Callable[[NDArray[np.int64], np.random.Generator], NDArray[np.int64]]


class Way(msgspec.Struct, frozen=True):
    """How populations come about."""

    name: str
    parameters: SearchParameters = SearchParameters()
    claim: Claim | None = None
    """What the platform says the fitness is, where it steers; what it sees is the truth."""
    at_will: bool = False


def _truth(fitness: NDArray[np.int64], _rng: np.random.Generator) -> NDArray[np.int64]:
    return fitness


def _drawn(fitness: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.permutation(len(fitness)).astype(np.int64)


def _reversed(fitness: NDArray[np.int64], _rng: np.random.Generator) -> NDArray[np.int64]:
    return -fitness


WAYS = (
    Way("agreed search"),
    Way("steered, winners at random", claim=_drawn),
    Way("steered, the worst win", claim=_reversed),
    Way("agreed without selection", SearchParameters(tournament=1, elites=0)),
    Way("agreed as for several objectives", PRESETS["paper-moap"]),
    Way("agreed with 15 elites of 100", SearchParameters(population=100)),
    Way("agreed with 5 elites of 100", SearchParameters(population=100, elites=5)),
    Way("random populations", at_will=True),
)


def problem_of(seed: int, size: int) -> Problem:
    """Uniform weights; `top:15` with nothing of the best."""
    made = generate_assignment(seed, rows=size)
    objective = replace(
        made.objectives[0],
        disclosure=parse_disclosure("top:15"),
        best_mode=BestMode.NOTHING,
    )
    return replace(made, objectives=(objective,))


def populations(problem: Problem, way: Way, view: View, seed: int) -> list[NDArray[np.int32]]:
    """All candidates that are evaluated, set by set."""
    disclosure: Disclosure = problem.objectives[0].disclosure
    search = Evolution(problem, way.parameters)
    rng, own = np.random.Generator(np.random.PCG64(seed)), np.random.default_rng(seed + 99)
    state, found = search.start(), []
    for size in view.sizes:
        genomes = search.ask(state, rng)
        plans = random_plans(view, int(size), own) if way.at_will else problem.plans(genomes)
        found.append(plans)
        claimed = (way.claim or _truth)(problem.fitness(0, plans), own)
        seen: Any = disclosure.disclose(claimed)
        estimates = disclosure.estimates(seen, best=None, estimator=linear)
        state = search.tell(state, genomes, estimates[:, None], rng)
    return found


def recovered(way: Way, seed: int, *, size: int, evaluations: int) -> float:
    """The correlation that the strongest attack on what was disclosed reaches."""
    problem = problem_of(seed, size)
    driver = simulated_driver(
        problem, SearchParameters(), Limits(generations=evaluations - 1), seed=seed
    )
    recorder = Recorder()
    drive(driver, observe=recorder)
    view = view_of(recorder.record(driver.plans()[0]))
    weights = problem.objectives[0].weights
    assert weights is not None
    sets = populations(problem, way, view, seed)
    of_these_sizes = replace(view, sizes=np.array([len(each) for each in sets]))
    asked = answered(of_these_sizes, weights.astype(np.float64), np.concatenate(sets))
    matrix = as_matrix(view.problem, recover_from(asked))
    counts = np.ones(matrix.shape, dtype=np.bool_)
    both = [centred(each, counts).ravel() for each in (matrix, weights.astype(np.float64))]
    return cosine(both[0], both[1])


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, seeds=2)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--only", help="a part of the name of a row")
    options = parser.parse_args()
    found = {}
    for way in (each for each in WAYS if (options.only or "") in each.name):
        measured = [
            recovered(way, seed, size=options.size, evaluations=options.evaluations)
            for seed in range(1, options.seeds + 1)
        ]
        found[way.name] = [round(each, 3) for each in measured]
        print(f"{way.name:28} " + "  ".join(f"{each:.2f}" for each in measured), flush=True)
    content = {"size": options.size, "evaluations": options.evaluations, "recovered": found}
    write_json(options.json, content)


if __name__ == "__main__":
    main()
