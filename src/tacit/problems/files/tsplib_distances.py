"""Distances between cities, to the integer as TSPLIB 95 defines them (Reinelt 1991).

All return a full matrix with zeros on the diagonal, which no tour uses.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Coordinates = NDArray[np.float64]
Distances = NDArray[np.int64]

GEO_PI = 3.141592
"""Pi as TSPLIB has it; a better one gives other distances."""

EARTH_RADIUS = 6378.388

LARGEST_COORDINATE = 1e15
"""Beyond it a float no longer tells whole numbers apart; readers refuse such cities."""


def euclidean(cities: Coordinates, /) -> Distances:
    """EUC_2D: the straight line, rounded to the nearest integer, halves up.

    >>> euclidean(np.array([[0.0, 0.0], [1.5, 2.0]]))
    array([[0, 3],
           [3, 0]])
    """
    return _whole(np.floor(_straight(cities) + 0.5))


def euclidean_up(cities: Coordinates, /) -> Distances:
    """CEIL_2D: the straight line, rounded up.

    >>> euclidean_up(np.array([[0.0, 0.0], [1.0, 1.0]]))[0, 1]
    np.int64(2)
    """
    return _whole(np.ceil(_straight(cities)))


def pseudo_euclidean(cities: Coordinates, /) -> Distances:
    """ATT: the straight line shortened by the root of ten, rounded up.

    >>> pseudo_euclidean(np.array([[0.0, 0.0], [10.0, 0.0]]))[0, 1]
    np.int64(4)
    """
    squares = _squares(cities)
    exact = np.sqrt(squares / 10.0)
    nearest = np.floor(exact + 0.5)
    return _whole(np.where(nearest < exact, nearest + 1, nearest))


def geographical(cities: Coordinates, /) -> Distances:
    """GEO: kilometres on a sphere; coordinates are latitude and longitude as DDD.MM.

    >>> geographical(np.array([[0.0, 0.0], [0.0, 1.0]]))[0, 1]
    np.int64(112)
    """
    degrees = np.trunc(cities)
    radians = GEO_PI * (degrees + 5.0 * (cities - degrees) / 3.0) / 180.0
    latitude, longitude = radians[:, 0], radians[:, 1]
    q1 = np.cos(longitude[:, None] - longitude[None, :])
    q2 = np.cos(latitude[:, None] - latitude[None, :])
    q3 = np.cos(latitude[:, None] + latitude[None, :])
    # Rounding can lift the cosine of a tiny angle above 1, where the arc cosine ends.
    cosine = np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0)
    return _whole(np.floor(EARTH_RADIUS * np.arccos(cosine) + 1.0))


METRICS: dict[str, Callable[[Coordinates], Distances]] = {
    "EUC_2D": euclidean,
    "CEIL_2D": euclidean_up,
    "ATT": pseudo_euclidean,
    "GEO": geographical,
}
"""The metrics by the name TSPLIB gives them."""


def _squares(cities: Coordinates) -> NDArray[np.float64]:
    x, y = cities[:, 0], cities[:, 1]
    dx, dy = x[:, None] - x[None, :], y[:, None] - y[None, :]
    return np.asarray(dx * dx + dy * dy)


def _straight(cities: Coordinates) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(_squares(cities)))


def _whole(distances: NDArray[np.float64]) -> Distances:
    np.fill_diagonal(distances, 0.0)
    # What is beyond any weight stays beyond it, and the model refuses it by name.
    return np.minimum(distances, 2.0**62).astype(np.int64)
