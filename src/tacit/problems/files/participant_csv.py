"""What each participant takes home of a drawn problem: its own rows as a CSV to submit."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit.files import writing
from tacit.problems.files.decimals import unscaled_text
from tacit.problems.files.save import save_problem
from tacit.problems.model.objective import Objective
from tacit.problems.model.problem import Participant, Problem

PUBLIC = "public.json"


def public_part(problem: Problem, /) -> Problem:
    """The problem without anybody's weights: all that a platform needs.

    Coordinates stay: where the cities of a tour lie is public.
    """
    bare = tuple(replace(objective, weights=None) for objective in problem.objectives)
    return replace(problem, objectives=bare, optimum=None)


def save_participants(problem: Problem, folder: Path, /) -> list[Path]:
    """Write a CSV per participant (and objective, if there are several) and the public rest."""
    written = []
    with writing(folder, remedy="choose another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        for participant in problem.participants:
            for objective in problem.objectives:
                more = f" {objective.name}" if len(problem.objectives) > 1 else ""
                path = folder / f"{participant.name}{more}.csv"
                path.write_text(rows_as_csv(problem, participant, objective), encoding="utf-8")
                written.append(path)
    save_problem(public_part(problem), folder / PUBLIC)
    return [*written, folder / PUBLIC]


def rows_as_csv(problem: Problem, participant: Participant, objective: Objective, /) -> str:
    r"""A participant's rows of one objective, in the user's unit, with names where there are any.

    >>> from tacit.problems import generate_delays
    >>> problem = generate_delays(1, flights=2, slots=2, airlines=2)
    >>> rows_as_csv(problem, problem.participants[0], problem.objectives[0])
    'row,06:00,06:04\namber 100,0,0\n'
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    if problem.column_names is not None:
        corner = ["row"] if problem.row_names is not None else []
        lines.writerow([*corner, *problem.column_names])
    weights = np.zeros((0, 0)) if objective.weights is None else objective.weights
    for row in participant.rows:
        name = [problem.row_names[row]] if problem.row_names is not None else []
        lines.writerow(name + [unscaled_text(int(w), objective.scale) for w in weights[row]])
    return text.getvalue()
