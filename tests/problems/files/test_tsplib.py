"""TSPLIB files, and distances as TSPLIB defines them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FileError
from tacit.problems import Tour, load_problem, load_tour
from tacit.problems.files.tsplib import METRICS

MATRIX = [[0, 3, 5, 48], [3, 0, 7, 9], [5, 7, 0, 12], [48, 9, 12, 0]]

LAYOUTS = {
    "FULL_MATRIX": "0 3 5 48  3 0 7 9  5 7 0 12  48 9 12 0",
    "UPPER_ROW": "3 5 48  7 9  12",
    "LOWER_ROW": "3  5 7  48 9 12",
    "UPPER_DIAG_ROW": "0 3 5 48  0 7 9  0 12  0",
    "LOWER_DIAG_ROW": "0  3 0  5 7 0  48 9 12 0",
    "UPPER_COL": "3  5 7  48 9 12",
    "LOWER_COL": "3 5 48  7 9  12",
    "UPPER_DIAG_COL": "0  3 0  5 7 0  48 9 12 0",
    "LOWER_DIAG_COL": "0 3 5 48  0 7 9  0 12  0",
}


def explicit(layout: str, numbers: str, dimension: int = 4, kind: str = "TSP") -> str:
    return (
        f"NAME: hand\nTYPE: {kind}\nDIMENSION: {dimension}\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
        f"EDGE_WEIGHT_FORMAT: {layout}\nEDGE_WEIGHT_SECTION\n{numbers}\nEOF\n"
    )


def read(tmp_path: Path, text: str, name: str = "a.tsp", **options: Any) -> Tour:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    tour = load_problem(path, **options)
    assert isinstance(tour, Tour)
    return tour


def weights(tour: Tour) -> list[list[int]]:
    found = tour.objectives[0].weights
    assert found is not None
    result: list[list[int]] = found.tolist()
    return result


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_every_layout_gives_the_same_matrix(tmp_path: Path, layout: str, wrapped: bool) -> None:
    numbers = LAYOUTS[layout]
    if wrapped:
        numbers = "\n".join(" ".join(numbers.split()[i : i + 3]) for i in range(0, 16, 3))
    tour = read(tmp_path, explicit(layout, numbers))
    assert weights(tour) == MATRIX
    assert tour.objectives[0].sense == "minimize"


def test_asymmetric_problems_keep_both_directions_and_lose_their_diagonal(tmp_path: Path) -> None:
    text = explicit("FULL_MATRIX", "9999 1 2  3 9999 4  5 6 9999", 3, "ATSP")
    tour = read(tmp_path, text, "a.atsp")
    assert weights(tour) == [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    assert tour.objectives[0].weight_bound == 6


def test_decimals_in_an_explicit_matrix_are_scaled(tmp_path: Path) -> None:
    tour = read(tmp_path, explicit("UPPER_ROW", "1.5", 2))
    assert (weights(tour), tour.objectives[0].scale) == ([[0, 15], [15, 0]], 10)
    with pytest.raises(FileError, match=r"line 7: 1\.5 has more decimals than scale 1 keeps"):
        read(tmp_path, explicit("UPPER_ROW", "1.5", 2), scale=1)


def test_loose_spelling(tmp_path: Path) -> None:
    text = (
        "\ufeffname : two words\r\n\r\nCOMMENT: made by hand: 1 2\r\nTYPE : TSP (by hand)\r\n"
        "dimension:3\r\nEDGE_WEIGHT_TYPE  :EUC_2D\r\nNODE_COORD_TYPE : TWOD_COORDS\r\n"
        "NODE_COORD_SECTION :\r\n 12 3.0e0\r\n4 11 0 0\r\n  10 0 8.0\r\n"
    )
    tour = read(tmp_path, text)
    assert tour.name == "two words"
    assert tour.row_names == tour.column_names == ("10", "11", "12")
    assert tour.coordinates is not None
    assert tour.coordinates.tolist() == [[0, 8], [0, 0], [3, 4]]
    assert weights(tour) == [[0, 8, 5], [8, 0, 5], [5, 5, 0]]


def test_a_name_is_taken_from_the_file_and_display_data_only_draw(tmp_path: Path) -> None:
    text = (
        "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n"
        "EDGE_WEIGHT_SECTION\n7\nDISPLAY_DATA_SECTION\n1 0 0\n2 1 1\n"
    )
    tour = read(tmp_path, text, "pair.tsp")
    assert (tour.name, tour.row_names, weights(tour)) == ("pair", None, [[0, 7], [7, 0]])
    assert tour.coordinates is not None


HEAD = "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.tsp: the file is empty; give a TSPLIB file"),
        ("NAME: a\n", "DIMENSION is missing; add 'DIMENSION: <cities>'"),
        ("DIMENSION: many\n", "line 1: DIMENSION is 'MANY'; give the number of cities"),
        ("DIMENSION: 99999\n", "line 1: 99999 cities are more than 10000; use a smaller problem"),
        ("1 2 3\n", "line 1: '1 2 3' stands before any section; check that this is a TSPLIB file"),
        ("TYPE: CVRP\n" + HEAD, "line 1: TYPE CVRP is not supported; use TSP or ATSP"),
        (
            "DIMENSION: 2\nEDGE_WEIGHT_TYPE: XRAY1\n",
            "line 2: EDGE_WEIGHT_TYPE XRAY1 is not supported; use EUC_2D or CEIL_2D or ATT or GEO",
        ),
        ("DIMENSION: 2\n", "EDGE_WEIGHT_TYPE is missing; use EUC_2D or"),
        ("DIMENSION: 2\nEDGE_WEIGHT_TYPE: GEO\n", "line 2: GEO needs a NODE_COORD_SECTION"),
        (explicit("SPIRAL", "1"), "line 5: EDGE_WEIGHT_FORMAT SPIRAL is not supported; use FULL"),
        (
            explicit("UPPER_ROW", "1 2"),
            "EDGE_WEIGHT_SECTION: has 2 numbers where UPPER_ROW of 4 cities has 6;",
        ),
        (explicit("UPPER_ROW", "-1", 2), "line 7: -1 is negative; shift all weights"),
        (explicit("UPPER_ROW", "1e15", 2), "line 7: 1E+15 is above the largest weight"),
        (explicit("UPPER_ROW", "1e99", 2), "line 7: 1e99 is too large; use a larger unit"),
        (explicit("UPPER_ROW", "1 x 3", 3), "line 7: 'x' is not a number; fill in a number"),
        (HEAD + "1 0 0\n2 1e999999999 0\n", "line 5: 1e999999999 is too large; use a larger"),
        (HEAD + "1 0 0\n", "NODE_COORD_SECTION: has 3 numbers where 2 cities need 6; give an id"),
        (HEAD + "1 0 0\n1 2 2\n", "line 5: city 1 has coordinates already; name cities apart"),
        (HEAD + "1 0 0\n1.5 2 2\n", "line 5: '1.5' is not the id of a city; give whole numbers"),
        (HEAD + "1 0 0\nnan 2 2\n", "line 5: 'nan 2 2' is neither a number nor a keyword"),
        (HEAD + "1 0 0\n2 nan 2\n", "line 5: nan is not a finite number"),
        (
            HEAD + "1 0 0\n2 1 1\nFIXED_EDGES_SECTION\n1 2\n-1\n",
            "line 7: fixed edges are not supported; remove the FIXED_EDGES_SECTION",
        ),
        ("DIMENSION: 1\n" + HEAD[13:] + "1 0 0\n", "a tour needs at least two cities; add some"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "tour"),
    [
        ("TYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1 3\n2 4\n-1\nEOF\n", (0, 2, 1, 3)),
        ("TOUR_SECTION\n1\n3\n2\n", (0, 2, 1)),
        ("TYPE: TOUR\nTOUR_SECTION\n7 5 6 -1\n1 2 -1\n", (2, 0, 1)),
    ],
)
def test_tours(tmp_path: Path, text: str, tour: Any) -> None:
    path = tmp_path / "a.opt.tour"
    path.write_text(text, encoding="utf-8")
    assert load_tour(path) == tour
    assert load_tour(str(path)) == tour


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TYPE: TSP\nDIMENSION: 2\n", "line 1: TYPE TSP is not supported; use TOUR"),
        ("TYPE: TOUR\n", "there is no TOUR_SECTION"),
        ("TOUR_SECTION\n-1\n", "the tour visits 0 of all cities"),
        ("DIMENSION: 3\nTOUR_SECTION\n1 2 -1\n", "the tour visits 2 of 3 cities; visit every"),
        ("TOUR_SECTION\n1\n2 1\n", "line 3: city 1 is visited again, first in line 2"),
        ("TOUR_SECTION\n1 b\n", "line 2: 'b' is not a number"),
    ],
)
def test_bad_tours(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.tour"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_tour(path)
    assert message in str(caught.value)


def test_a_tour_file_fits_its_problem_whatever_the_ids(tmp_path: Path) -> None:
    tour = read(tmp_path, HEAD.replace("2\n", "3\n", 1) + "30 0 9\n10 0 0\n20 0 4\n")
    path = tmp_path / "a.tour"
    path.write_text("TOUR_SECTION\n30 10 20 -1\n", encoding="utf-8")
    plan = np.array([load_tour(path)], dtype=np.int32)
    assert plan.tolist() == [[2, 0, 1]]
    assert tour.fitness(0, plan).tolist() == [-18]


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
