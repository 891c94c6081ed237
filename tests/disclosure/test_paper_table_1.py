"""Table 1 of the paper, every column: what is disclosed of eleven solutions and what it tells."""

from __future__ import annotations

import numpy as np
import pytest
from studies.report.results import published

from tacit.disclosure import parse_disclosure

# Index and fitness, then five columns of obfuscated and five of estimated values, in the order
# of the methods below.
T, F = True, False
TABLE_1 = (
    (1, 100, 0, 0, 0, T, T, 100, 100, 100, 100, 100),
    (2, 90, 1, 0, 0, T, T, 80, 100, 100, 100, 100),
    (3, 80, 2, 0, 0, T, T, 60, 100, 100, 100, 100),
    (4, 70, 3, 1, 0, T, T, 40, 0, 100, 100, 100),
    (5, 70, 4, 1, 0, F, T, 20, 0, 100, -100, 100),
    (6, 65, 5, 1, 1, F, F, 0, 0, 0, -100, -100),
    (7, 30, 6, 1, 2, F, F, -20, 0, -100, -100, -100),
    (8, 30, 7, 2, 2, F, F, -40, -100, -100, -100, -100),
    (9, 20, 8, 2, 2, F, F, -60, -100, -100, -100, -100),
    (10, 10, 9, 2, 2, F, F, -80, -100, -100, -100, -100),
    (11, 0, 10, 2, 2, F, F, -100, -100, -100, -100, -100),
)
METHODS = ("order", "quantiles:3", "buckets:3", "top:4", "above:70")
DISTANCES = {"order": 20, "quantiles:3": 100, "buckets:3": 100, "top:4": 200, "above:70": 200}

FITNESS = np.array([row[1] for row in TABLE_1], dtype=np.int64)


@pytest.mark.parametrize("column", range(5), ids=METHODS)
def test_obfuscated_fitness_is_that_of_table_1(column: int) -> None:
    disclosed = parse_disclosure(METHODS[column]).disclose(FITNESS)
    expected = [row[2 + column] for row in TABLE_1]
    assert disclosed.tolist() == expected
    assert (disclosed.dtype == np.bool_) == (METHODS[column] in ("top:4", "above:70"))


@pytest.mark.parametrize("column", range(5), ids=METHODS)
def test_estimated_fitness_is_that_of_table_1(column: int) -> None:
    disclosure = parse_disclosure(METHODS[column])
    estimates = disclosure.estimates(disclosure.disclose(FITNESS), best=100)
    assert estimates.tolist() == [float(row[7 + column]) for row in TABLE_1]


@pytest.mark.parametrize("method", METHODS)
def test_distances_between_levels_are_those_the_paper_names(method: str) -> None:
    disclosure = parse_disclosure(method)
    estimates = disclosure.estimates(disclosure.disclose(FITNESS), best=100)
    levels = sorted(set(estimates.tolist()), reverse=True)
    assert levels[0] - levels[1] == DISTANCES[method]


@pytest.mark.parametrize("column", range(5), ids=METHODS)
def test_table_1_holds_for_any_order_of_the_solutions_that_keeps_ties_in_order(
    column: int,
) -> None:
    # Ties (70, 70 and 30, 30) keep their relative order, so every solution keeps its row.
    shuffled = [10, 3, 0, 6, 5, 4, 9, 1, 7, 8, 2]
    disclosed = parse_disclosure(METHODS[column]).disclose(FITNESS[shuffled])
    assert disclosed.tolist() == [TABLE_1[i][2 + column] for i in shuffled]


def test_the_reports_copy_of_table_1_is_the_same() -> None:
    given = published()["example"]
    assert given["fitness"] == FITNESS.tolist()
    for column, method in enumerate(METHODS):
        assert given["obfuscated"][method] == [row[2 + column] for row in TABLE_1]
        assert given["estimated"][method] == [row[7 + column] for row in TABLE_1]
