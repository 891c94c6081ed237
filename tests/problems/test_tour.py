"""Tours: square, closed, each city once."""

from typing import Any

import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problems import Objective, Tour

WAYS = np.array([[0, 1, 5], [4, 0, 2], [3, 6, 0]])


def tour(**options: Any) -> Tour:
    length = Objective("km", WAYS, sense="minimize")
    return Tour(name="t", rows=3, columns=3, objectives=(length,), **options)


def test_the_way_back_counts_and_direction_matters() -> None:
    plans = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.int32)
    assert tour().fitness(0, plans).tolist() == [-(1 + 2 + 3), -(6 + 4 + 5)]
    assert tour().plans(plans) is plans
    assert (tour().genome_length, tour().plan_length, tour().allowed) == (3, 3, None)


def test_a_tour_is_square_has_two_cities_and_a_place_for_each() -> None:
    flat = Objective("km", WAYS[:2])
    with pytest.raises(ProblemError, match="square matrix, this one is 2 x 3"):
        Tour(name="t", rows=2, columns=3, objectives=(flat,))
    with pytest.raises(ProblemError, match="at least two cities"):
        Tour(name="t", rows=1, columns=1, objectives=(Objective("km", WAYS[:1, :1]),))
    with pytest.raises(ProblemError, match="coordinates for 2 of 3 cities"):
        tour(coordinates=np.zeros((2, 2)))


def test_a_plan_visits_every_city_once() -> None:
    tour().check_plan([2, 0, 1])
    with pytest.raises(ProblemError, match="takes a column twice"):
        tour().check_plan([0, 1, 1])
