"""The shipped problems against TSPLIB's published figures."""

import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.problems import Tour, shipped_names, shipped_problem

OPTIMA = {
    "kroA100": 21282,
    "kroB100": 22141,
    "kroC100": 20749,
    "kroD100": 21294,
    "kroE100": 22068,
    "rd100": 7910,
}

# The optimal tours of TSPLIB, cities counted from 1.
TOURS = {
    "kroD100": """
        1 50 34 81 38 66 8 52 46 23 42 89 11 90 17 94 32 97 98 49 70 22 58 29 36 67 75 7 74 61
        76 80 72 57 31 78 99 45 33 68 14 65 86 96 16 63 54 91 77 43 64 85 59 3 83 40 6 18 82 25
        20 9 10 21 47 12 28 56 95 26 87 55 92 48 2 100 30 35 51 19 37 62 5 53 60 44 93 4 71 39
        73 15 69 84 41 24 27 88 79 13
    """,
    "rd100": """
        1 18 62 87 15 63 86 97 67 13 49 21 75 82 85 14 12 4 32 9 26 74 20 78 3 33 10 27 92 17 72
        70 38 54 73 50 46 56 19 37 28 93 77 95 59 76 58 89 2 23 35 29 44 100 39 96 55 40 43 25
        24 42 7 34 41 22 5 61 11 52 45 16 31 84 88 66 98 94 6 79 53 99 47 57 36 64 91 81 80 30
        48 65 90 51 83 68 71 8 69 60
    """,
}


@pytest.mark.parametrize("name", OPTIMA)
def test_shipped(name: str) -> None:
    problem = shipped_problem(name)
    assert isinstance(problem, Tour)
    assert (problem.name, problem.rows, problem.optimum) == (name, 100, OPTIMA[name])
    assert problem.source is not None
    assert "TSPLIB (Reinelt 1991)" in problem.source
    assert problem.coordinates is not None
    assert problem.objectives[0].sense == "minimize"


@pytest.mark.parametrize("name", TOURS)
def test_an_optimal_tour_has_the_published_length(name: str) -> None:
    tour = np.array([TOURS[name].split()], dtype=np.int32) - 1
    problem = shipped_problem(name)
    problem.check_plan(tour[0].tolist())
    assert problem.fitness(0, tour).tolist() == [-OPTIMA[name]]


def test_names() -> None:
    assert shipped_names() == tuple(sorted(OPTIMA))
    with pytest.raises(ParameterError, match="no problem 'kroF100' is shipped; use one of kroA100"):
        shipped_problem("kroF100")
