"""Each participant's CSV gives back exactly its rows, and the public part has nobody's weights."""

from pathlib import Path

import numpy as np
import pytest

from tacit.errors import FileError
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_delays,
    generate_tour,
    load_problem,
)
from tacit.problems.files.load_and_save import save_participants
from tacit.problems.files.matrices import read_csv_weights


@pytest.mark.parametrize(
    "problem",
    [
        generate_delays(1, flights=7, airlines=3),
        generate_assignment(1, rows=4, columns=6, participants=2, objectives=2),
        generate_tour(1, cities=6, participants=2),
    ],
    ids=lambda problem: problem.name,
)
def test_rows_come_back(problem: Problem, tmp_path: Path) -> None:
    paths = save_participants(problem, tmp_path / "them")
    expected = [
        (participant, objective)
        for participant in problem.participants
        for objective in problem.objectives
    ]
    assert len(paths) == len(expected) + 1
    for path, (participant, objective) in zip(paths, expected, strict=False):
        table = read_csv_weights(path)
        assert objective.weights is not None
        assert np.array_equal(table.weights, objective.weights[list(participant.rows)])
        if problem.row_names is not None:
            assert table.row_names == tuple(problem.row_names[row] for row in participant.rows)
            assert table.column_names == problem.column_names


def test_the_public_part_is_a_problem_without_weights(tmp_path: Path) -> None:
    drawn = generate_delays(1, flights=7, airlines=3)
    *_, public = save_participants(drawn, tmp_path)
    assert '"weights"' not in public.read_text()
    problem = load_problem(public)
    assert problem.objectives[0].weights is None
    assert problem.objectives[0].weight_bound == drawn.objectives[0].weight_bound
    assert problem.participants == drawn.participants


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="choose another folder"):
        save_participants(generate_delays(1, flights=3), tmp_path / "file" / "below")
