"""Distances against the definitions of TSPLIB 95, written out one pair at a time."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.problems.files.tsplib import METRICS

# Fourteen towns as latitude and longitude in degrees and minutes: TSPLIB's burma14.
TOWNS = [
    (16.47, 96.10), (16.47, 94.44), (20.09, 92.54), (22.39, 93.37), (25.23, 97.24),
    (22.00, 96.05), (20.47, 97.02), (17.20, 96.29), (16.30, 97.38), (14.05, 98.12),
    (16.53, 97.38), (21.52, 95.59), (19.41, 97.13), (20.09, 94.55),
]  # fmt: skip
BEST_ROUND = [0, 1, 13, 2, 3, 4, 5, 11, 6, 12, 7, 10, 8, 9]


def one_pair(metric: str, a: tuple[float, float], b: tuple[float, float]) -> int:
    dx, dy = a[0] - b[0], a[1] - b[1]
    match metric:
        case "EUC_2D":
            return math.floor(math.sqrt(dx * dx + dy * dy) + 0.5)
        case "CEIL_2D":
            return math.ceil(math.sqrt(dx * dx + dy * dy))
        case "ATT":
            exact = math.sqrt((dx * dx + dy * dy) / 10.0)
            nearest = math.floor(exact + 0.5)
            return nearest + 1 if nearest < exact else nearest
        case _:
            radians = []
            for value in (*a, *b):
                degrees = int(value)
                radians.append(3.141592 * (degrees + 5.0 * (value - degrees) / 3.0) / 180.0)
            q1 = math.cos(radians[1] - radians[3])
            q2 = math.cos(radians[0] - radians[2])
            q3 = math.cos(radians[0] + radians[2])
            cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)
            return int(6378.388 * math.acos(min(cosine, 1.0)) + 1.0)


@pytest.mark.parametrize("metric", METRICS)
@given(
    cities=st.lists(
        st.tuples(st.integers(-9000, 9000), st.integers(-17000, 17000)), min_size=2, max_size=6
    )
)
def test_each_pair_is_as_defined(metric: str, cities: Any) -> None:
    places = [(x / 100, y / 100) for x, y in cities]
    distances = METRICS[metric](np.array(places))
    for i, a in enumerate(places):
        for j, b in enumerate(places):
            assert distances[i, j] == (0 if i == j else one_pair(metric, a, b))


@pytest.mark.parametrize(
    ("metric", "a", "b", "distance"),
    [
        ("EUC_2D", (0, 0), (3, 4), 5),
        ("EUC_2D", (0, 0), (0, 2.5), 3),  # halves go up
        ("EUC_2D", (0, 0), (1, 1), 1),  # 1.41
        ("CEIL_2D", (0, 0), (1, 1), 2),
        ("CEIL_2D", (0, 0), (3, 4), 5),
        ("ATT", (0, 0), (10, 0), 4),  # sqrt(10) = 3.16, rounded up
        ("ATT", (0, 0), (30, 10), 10),  # sqrt(100), exactly
        ("GEO", (0, 0), (0, 90), 10020),  # a quarter of the way round: 6378.388 pi/2 + 1
        ("GEO", (0, 0), (0, 0.3), 56),  # 30 minutes: 6378.388 pi/360 + 1
        ("GEO", (0, 0), (0, -0.3), 56),  # cut off towards zero, so minutes keep their sign
        ("GEO", (48.12, 16.22), (48.12, 16.22), 1),  # two cities in one place
    ],
)
def test_by_hand(metric: str, a: Any, b: Any, distance: int) -> None:
    assert METRICS[metric](np.array([a, b], dtype=np.float64))[0, 1] == distance


def test_the_published_optimum_of_burma14() -> None:
    distances = METRICS["GEO"](np.array(TOWNS))
    assert distances[BEST_ROUND, np.roll(BEST_ROUND, -1)].sum() == 3323
