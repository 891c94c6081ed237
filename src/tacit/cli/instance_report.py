"""What `tacit instance show` prints of a problem."""

from __future__ import annotations

import msgspec
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.problems import Assignment, Objective, Problem, ground_truth, kind_named, optimum

_LARGEST_GROUND_TRUTH = 300
"""A hundred exact solutions of more rows take too long for a look at a file."""


class ObjectiveDescription(msgspec.Struct):
    """One objective in the user's unit."""

    name: str
    sense: str
    confidential: bool
    disclosure: str
    best: str
    scale: int
    least: float | None
    most: float | None
    weight_bound: float


class Description(msgspec.Struct):
    """A problem in figures."""

    name: str
    kind: str
    rows: int
    columns: int
    source: str | None
    participants: dict[str, int]
    objectives: list[ObjectiveDescription]
    forbidden_share: float
    data: dict[str, int | list[int]]
    """Public data of the kind, such as capacities."""
    optimum: float | None
    ground_truth_size: int | None

    def to_json(self) -> str:
        """The description as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()


def describe(problem: Problem, /) -> Description:
    """Put a problem into figures."""
    forbidden = problem.forbidden
    return Description(
        name=problem.name,
        kind=problem.kind,
        rows=problem.rows,
        columns=problem.columns,
        source=problem.source,
        participants={p.name: len(p.rows) for p in problem.participants},
        objectives=[_objective(problem, objective) for objective in problem.objectives],
        forbidden_share=0.0 if forbidden is None else float(forbidden.mean()),
        data=problem.data,
        optimum=_optimum(problem),
        ground_truth_size=_ground_truth_size(problem),
    )


def print_description(description: Description, console: Console, /) -> None:
    """Print the description as tables for people."""
    d = description
    console.print(f"{d.name}: {d.kind}, {d.rows} x {d.columns}", markup=False, highlight=False)
    facts = Table.grid(padding=(0, 2))
    if d.source:
        facts.add_row("source", escape(d.source))
    facts.add_row("owners", escape(_owners(d.participants)))
    if not kind_named(d.kind).between_places:
        facts.add_row("forbidden", f"{d.forbidden_share:.1%} of the pairs")
    for name, numbers in d.data.items():
        facts.add_row(name, _numbers(numbers))
    if d.ground_truth_size is not None:
        facts.add_row("ground truth", f"{d.ground_truth_size} plans")
    elif len(d.objectives) == 1:
        facts.add_row("optimum", "unknown" if d.optimum is None else f"{d.optimum:,}")
    console.print(facts)
    table = Table("objective", "sense", "disclosure", "best", "weights", "bound", "scale")
    for o in d.objectives:
        shown = o.disclosure if o.confidential else "public"
        spread = "with owners" if o.least is None else f"{o.least:,} to {o.most:,}"
        name = escape(o.name)
        table.add_row(name, o.sense, shown, o.best, spread, f"{o.weight_bound:,}", f"{o.scale:,}")
    console.print(table)


def _numbers(numbers: int | list[int]) -> str:
    if isinstance(numbers, int) or len(numbers) <= 8:
        return ", ".join(map(str, [numbers] if isinstance(numbers, int) else numbers))
    return f"{min(numbers)} to {max(numbers)}, {sum(numbers)} in all"


def _owners(participants: dict[str, int]) -> str:
    if len(participants) > 8:
        least, most = min(participants.values()), max(participants.values())
        each = f"{least}" if least == most else f"{least} to {most}"
        return f"{len(participants)}, with {each} rows each"
    return ", ".join(f"{name} ({rows} rows)" for name, rows in participants.items())


def _objective(problem: Problem, objective: Objective) -> ObjectiveDescription:
    weights = objective.weights
    if weights is not None and problem.between_places:
        # No way goes from a city to itself, so the diagonal says nothing.
        weights = weights[~np.eye(problem.rows, dtype=np.bool_)]
    return ObjectiveDescription(
        name=objective.name,
        sense=objective.sense,
        confidential=objective.confidential,
        disclosure=objective.disclosure.text,
        best=objective.best_mode.value,
        scale=objective.scale,
        least=None if weights is None else _in_users_unit(int(weights.min()), objective),
        most=None if weights is None else _in_users_unit(int(weights.max()), objective),
        weight_bound=_in_users_unit(objective.weight_bound, objective),
    )


def _in_users_unit(value: int, objective: Objective) -> float:
    return objective.to_user(objective.sign * value)


def _optimum(problem: Problem) -> float | None:
    if len(problem.objectives) > 1:
        return None
    found = optimum(problem)
    return None if found is None else _in_users_unit(found.value, problem.objectives[0])


def _ground_truth_size(problem: Problem) -> int | None:
    known = all(objective.weights is not None for objective in problem.objectives)
    if not isinstance(problem, Assignment) or len(problem.objectives) < 2 or not known:
        return None
    if problem.rows > _LARGEST_GROUND_TRUTH:
        return None
    return len(ground_truth(problem).values)
