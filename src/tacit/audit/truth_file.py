"""The secret from a file, refused where it is not that of the recorded run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record import Record, RecordedProblem
from tacit.audit.recording import recorded_problem
from tacit.audit.view import view_of
from tacit.disclosure import PARETO
from tacit.errors import InputError
from tacit.problems import Objective, Problem, load_problem

BARE = (".csv", ".tsv", ".txt", ".npy")
"""Files of numbers, with names at most; problem files say whose they are as well."""
OF_PLACES = (".tsp", ".atsp")
REMEDY = "give the weights of the recorded run"
CHUNK = 1 << 14
"""The number of candidates added up at a time, which bounds the memory."""


def load_truth(
    path: str, record: Record, objective: int = 0, /, *, earlier: bool = False
) -> tuple[NDArray[np.float64], float | None]:
    """The weights of a record's objective from a problem file or a bare matrix, and the optimum.

    What is not of the recorded problem, or contradicts what was disclosed, is refused. `earlier`
    weights are of another day: names, owners and values may be others then.
    """
    recorded, bare = record.objectives[objective], Path(path).suffix.lower() in BARE
    scale = recorded.scale if bare and isinstance(recorded.scale, int) else None
    problem = load_problem(path, scale=scale)
    named = [each for each in problem.objectives if each.name == recorded.name]
    if not named and len(problem.objectives) > 1:
        raise InputError(f"{path} has no objective {recorded.name!r}; give the recorded problem")
    chosen = named[0] if named else problem.objectives[0]
    if chosen.weights is None:
        raise InputError(f"{path} has no weights of {recorded.name!r}; ask its participants")
    differences = _of_shape(problem, record.problem) or _of_objective(chosen, record, objective)
    if not earlier:
        parts = ["row_names", "column_names"]
        if not bare:
            parts += ["kind", "symmetric", "forbidden", "data"]
            # TSPLIB files name no owners.
            parts += [] if Path(path).suffix.lower() in OF_PLACES else ["owners"]
        differences += _of_parts(problem, record.problem, parts)
    if differences:
        raise InputError(f"{path} {differences[0]}; {REMEDY}")
    weights = chosen.weights.astype(np.float64)
    if not earlier:
        _check_disclosed(path, chosen.weights, record, objective)
    optimum = problem.optimum if len(problem.objectives) == 1 else None
    return weights, optimum


def _of_shape(problem: Problem, recorded: RecordedProblem) -> list[str]:
    sides = [(each.rows, each.columns) for each in (problem, recorded)]
    if sides[0] == sides[1]:
        return []
    given, wanted = (" x ".join(map(str, each)) for each in sides)
    return [f"has a {given} matrix and the record is of {wanted}"]


def _of_objective(chosen: Objective, record: Record, objective: int) -> list[str]:
    recorded = record.objectives[objective]
    if chosen.scale != recorded.scale:
        return [f"has weights times {chosen.scale} and the record has them times {recorded.scale}"]
    assert chosen.weights is not None
    most = int(chosen.weights.max())
    if most > recorded.weight_bound:
        return [f"has the weight {most}, and the record's bound is {recorded.weight_bound}"]
    return []


def _of_parts(problem: Problem, recorded: RecordedProblem, parts: list[str]) -> list[str]:
    """Return the public parts that differ; names are compared only if both have some."""
    ours = recorded_problem(problem)
    found = []
    for part in parts:
        given, wanted = getattr(ours, part), getattr(recorded, part)
        if part.endswith("names") and None in (given, wanted):
            continue
        # The order of pairs in a file says nothing.
        if part == "forbidden":
            given, wanted = sorted(map(tuple, given)), sorted(map(tuple, wanted))
        if part == "owners":
            given, wanted = (
                [(name, list(rows)) for name, rows in each] for each in (given, wanted)
            )
        if given != wanted:
            found.append(f"is of another problem: {part.replace('_', ' ')} differ")
    return found


def _check_disclosed(path: str, weights: NDArray[np.int64], record: Record, objective: int) -> None:
    """Refuse weights by which an evaluation would have disclosed something else."""
    recorded = record.objectives[objective]
    # Weights of one objective do not determine the order of several together.
    if not record.sizes or recorded.disclosure.startswith(f"{PARETO}:"):
        return
    view, known = view_of(record, objective), record.problem.known
    starts = range(0, len(view.plans), CHUNK)
    fitness = view.sign * np.concatenate(
        [known.cell_sums(weights, view.plans[at : at + CHUNK]) for at in starts]
    )
    at = view.evaluation_of
    # From the best group to the worst, and within each from the best fitness on.
    order = np.lexsort((-fitness, view.levels, at))
    rises = (np.diff(fitness[order]) > 0) & (np.diff(at[order]) == 0)
    wrong = at[order][1:][rises]
    if view.values is not None:
        wrong = np.concatenate([wrong, at[fitness != view.values]])
    if view.best is not None:
        first = np.cumsum(view.sizes) - view.sizes
        wrong = np.concatenate(
            [wrong, np.flatnonzero(np.maximum.reduceat(fitness, first) != view.best)]
        )
    if len(wrong):
        raise InputError(
            f"{path} has other weights than the recorded run: by them, evaluation "
            f"{int(wrong.min()) + 1} would have disclosed something else; {REMEDY}"
        )
