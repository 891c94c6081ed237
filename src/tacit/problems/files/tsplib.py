"""Tours from TSPLIB 95 files: .tsp and .atsp problems, .tour and .opt.tour solutions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.files import naming_file, read_bytes
from tacit.problems.files.decimals import CellError, parse_decimal, scale_needed, scaled
from tacit.problems.objective import FITNESS_BITS, Objective
from tacit.problems.tour import Tour

# The outer form of a TSPLIB 95 file: keywords, sections of numbers, and layouts of a matrix.


_KEYWORD = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*(:?)\s*(.*)")
LAYOUTS = (
    "FULL_MATRIX",
    "UPPER_ROW",
    "LOWER_COL",
    "UPPER_DIAG_ROW",
    "LOWER_DIAG_COL",
    "LOWER_ROW",
    "UPPER_COL",
    "LOWER_DIAG_ROW",
    "UPPER_DIAG_COL",
)
"""All values of EDGE_WEIGHT_FORMAT that hold a matrix."""


@dataclass(frozen=True)
class TsplibToken:
    """One number or word of a section and the line it stands in."""

    text: str
    line: int


@dataclass(frozen=True)
class TsplibText:
    """A file taken apart, nothing interpreted yet."""

    path: Path
    values: dict[str, TsplibToken] = field(default_factory=dict)
    sections: dict[str, list[TsplibToken]] = field(default_factory=dict)

    def word(self, keyword: str, /) -> str | None:
        """The first word of a keyword's value, in capitals; comments may follow it."""
        token = self.values.get(keyword)
        return token.text.split()[0].upper() if token and token.text else None

    def place(self, keyword: str, /) -> str | None:
        token = self.values.get(keyword)
        return f"line {token.line}" if token else None

    def dimension(self) -> int | None:
        """The number of cities, if the file states it."""
        word = self.word("DIMENSION")
        if word is None:
            return None
        if not (word.isascii() and word.isdigit()) or not 0 < len(word) <= 9:
            raise FileError(
                self.path,
                self.place("DIMENSION"),
                f"DIMENSION is {word!r}",
                "give the number of cities",
            )
        return int(word)


def read_tsplib_text(path: Path, /) -> TsplibText:
    r"""Take a TSPLIB file apart."""
    text = TsplibText(path)
    # Old files carry names in old encodings, in comments only: those bytes may be anything.
    lines = read_bytes(path).decode("utf-8-sig", errors="replace").splitlines()
    section: list[TsplibToken] | None = None
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped:
            continue
        keyword = _KEYWORD.fullmatch(stripped)
        if keyword is None:
            if section is None:
                raise FileError(
                    path,
                    f"line {number}",
                    f"{_shown(stripped)!r} stands before any section",
                    "check that this is a TSPLIB file",
                )
            section.extend(TsplibToken(word, number) for word in stripped.split())
            continue
        # A word before a colon is a keyword, and so is a first word with a value outside of
        # sections.
        name, colon, value = keyword.group(1).upper(), keyword.group(2), keyword.group(3).strip()
        if name == "EOF":
            break
        if name.endswith("_SECTION"):
            section = text.sections.setdefault(name, [])
            section.extend(TsplibToken(word, number) for word in value.split())
        elif colon or (section is None and value):
            section = None
            text.values[name] = TsplibToken(value, number)
        else:
            raise FileError(
                path,
                f"line {number}",
                f"{_shown(stripped)!r} is neither a number nor a keyword",
                "check that this is a TSPLIB file",
            )
    if not text.values and not text.sections:
        raise FileError(path, None, "the file is empty", "give a TSPLIB file")
    return text


def _shown(line: str) -> str:
    return line if len(line) <= 40 else line[:37] + "..."


def layout_size(layout: str, n: int, /) -> int:
    """Return how many numbers a layout holds for n cities.

    >>> layout_size("FULL_MATRIX", 4), layout_size("UPPER_ROW", 4), layout_size("UPPER_DIAG_ROW", 4)
    (16, 6, 10)
    """
    if layout == "FULL_MATRIX":
        return n * n
    return n * (n + 1) // 2 if "DIAG" in layout else n * (n - 1) // 2


def matrix_from_layout(layout: str, numbers: Sequence[int], n: int, /) -> NDArray[np.int64]:
    """Put the numbers in their places.

    The diagonal becomes 0: no tour uses it, and files put any large number there, which would
    raise the bound on weights for nothing.

    >>> matrix_from_layout("UPPER_ROW", [1, 2, 3], 3).tolist()
    [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    """
    values = np.array(numbers, dtype=np.int64)
    if layout == "FULL_MATRIX":
        matrix = values.reshape(n, n)
    else:
        # The matrix is symmetric, so the columns of one triangle are the rows of the other.
        is_upper = layout.startswith("UPPER") == layout.endswith("ROW")
        beside = 0 if "DIAG" in layout else 1
        rows, columns = np.triu_indices(n, beside) if is_upper else np.tril_indices(n, -beside)
        matrix = np.zeros((n, n), dtype=np.int64)
        matrix[rows, columns] = values
        matrix[columns, rows] = values
    np.fill_diagonal(matrix, 0)
    return matrix


# Distances between cities, to the integer as TSPLIB 95 defines them (Reinelt 1991).
#
# All return a full matrix with zeros on the diagonal, which no tour uses.


Coordinates = NDArray[np.float64]
Distances = NDArray[np.int64]

GEO_PI = 3.141592
"""Pi as TSPLIB has it; a better one gives other distances."""

EARTH_RADIUS = 6378.388

LARGEST_COORDINATE = 1e15
"""Beyond it floats skip whole numbers; readers refuse such cities."""


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
    # Minutes are written as decimals (DDD.MM), so that 5/3 turns .60 into one degree.
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


MOST_CITIES = 10_000
"""A full matrix of more would not fit the memory of an ordinary machine."""


def read_tsplib(path: Path, /, *, scale: int | None = None) -> Tour:
    r"""Read a TSPLIB problem as a tour to minimize.

    `scale` is for explicit weights with decimals, which some files have though TSPLIB knows none.
    """
    text = read_tsplib_text(path)
    _check_type(text)
    n = text.dimension()
    if n is None:
        raise FileError(path, None, "DIMENSION is missing", "add 'DIMENSION: <cities>'")
    if n > MOST_CITIES:
        what = f"{n} cities are more than {MOST_CITIES}"
        raise FileError(path, text.place("DIMENSION"), what, "use a smaller problem")
    coordinates, names = _coordinates(text, n)
    weight_type = text.word("EDGE_WEIGHT_TYPE")
    used_scale = 1
    if weight_type in METRICS:
        if coordinates is None:
            what = f"{weight_type} needs a NODE_COORD_SECTION"
            raise FileError(path, text.place("EDGE_WEIGHT_TYPE"), what, "add the coordinates")
        weights = METRICS[weight_type](coordinates)
    elif weight_type == "EXPLICIT":
        weights, used_scale = _explicit(text, n, scale)
    else:
        raise _unknown(text, "EDGE_WEIGHT_TYPE", (*METRICS, "EXPLICIT"))
    title = text.values.get("NAME")
    with naming_file(path):
        length = Objective("length", weights, sense="minimize", scale=used_scale)
        return Tour(
            name=(title.text if title else "") or path.stem,
            rows=n,
            columns=n,
            objectives=(length,),
            coordinates=coordinates,
            row_names=names,
            column_names=names,
        )


def load_tour(path: str | Path, /) -> tuple[int, ...]:
    """Read the first tour of a .tour file, its cities counted from 0 in order of their ids."""
    path = Path(path)
    text = read_tsplib_text(path)
    if text.word("TYPE") not in (None, "TOUR"):
        raise _unknown(text, "TYPE", ("TOUR",))
    tokens = text.sections.get("TOUR_SECTION")
    if not tokens:
        raise FileError(path, None, "there is no TOUR_SECTION", "give a TSPLIB .tour file")
    ids: dict[int, int] = {}
    for token in tokens:
        city = _city_id(path, token)
        # TSPLIB ends a tour with -1; further tours of the file are left out.
        if city == -1:
            break
        if city in ids:
            what = f"city {city} is visited again, first in line {ids[city]}"
            raise FileError(path, f"line {token.line}", what, "visit every city once")
        ids[city] = token.line
    n = text.dimension()
    if not ids or (n is not None and n != len(ids)):
        what = f"the tour visits {len(ids)} of {n or 'all'} cities"
        raise FileError(path, "TOUR_SECTION", what, "visit every city once")
    position = {city: index for index, city in enumerate(sorted(ids))}
    return tuple(position[city] for city in ids)


def _check_type(text: TsplibText) -> None:
    if text.word("TYPE") not in (None, "TSP", "ATSP"):
        raise _unknown(text, "TYPE", ("TSP", "ATSP"))
    if text.sections.get("FIXED_EDGES_SECTION"):
        raise FileError(
            text.path,
            f"line {text.sections['FIXED_EDGES_SECTION'][0].line}",
            "fixed edges are not supported",
            "remove the FIXED_EDGES_SECTION",
        )


def _unknown(text: TsplibText, keyword: str, known: tuple[str, ...]) -> FileError:
    word = text.word(keyword)
    what = f"{keyword} {word} is not supported" if word else f"{keyword} is missing"
    return FileError(text.path, text.place(keyword), what, f"use {' or '.join(known)}")


def _coordinates(
    text: TsplibText, n: int
) -> tuple[NDArray[np.float64] | None, tuple[str, ...] | None]:
    """Coordinates in order of the cities' ids, and the ids where they are not just 1..n."""
    for section in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION"):
        tokens = text.sections.get(section)
        if tokens is None:
            continue
        if len(tokens) != 3 * n:
            what = f"has {len(tokens)} numbers where {n} cities need {3 * n}"
            raise FileError(text.path, section, what, "give an id, an x and a y per city")
        cities: dict[int, tuple[float, float]] = {}
        for i in range(0, len(tokens), 3):
            city = _city_id(text.path, tokens[i])
            if city in cities:
                what = f"city {city} has coordinates already"
                raise FileError(text.path, f"line {tokens[i].line}", what, "name cities apart")
            x, y = (float(_number(text.path, token)) for token in tokens[i + 1 : i + 3])
            cities[city] = (x, y)
        ids = sorted(cities)
        counted = ids == list(range(1, n + 1))
        return (
            np.array([cities[city] for city in ids], dtype=np.float64),
            None if counted else tuple(map(str, ids)),
        )
    return None, None


def _explicit(text: TsplibText, n: int, scale: int | None) -> tuple[NDArray[np.int64], int]:
    layout = text.word("EDGE_WEIGHT_FORMAT")
    if layout not in LAYOUTS:
        raise _unknown(text, "EDGE_WEIGHT_FORMAT", LAYOUTS)
    tokens = text.sections.get("EDGE_WEIGHT_SECTION", [])
    expected = layout_size(layout, n)
    if len(tokens) != expected:
        what = f"has {len(tokens)} numbers where {layout} of {n} cities has {expected}"
        raise FileError(text.path, "EDGE_WEIGHT_SECTION", what, "check DIMENSION and the layout")
    numbers = [_number(text.path, token) for token in tokens]
    if scale is None:
        scale = scale_needed(numbers)
    # A tour adds up n ways, and that sum must fit the bits of a fitness.
    limit = (2**FITNESS_BITS - 1) // n
    weights = []
    for token, number in zip(tokens, numbers, strict=True):
        try:
            weights.append(scaled(number, scale, limit=limit))
        except CellError as error:
            raise FileError(text.path, f"line {token.line}", error.what, error.remedy) from None
    return matrix_from_layout(layout, weights, n), scale


def _number(path: Path, token: TsplibToken) -> Decimal:
    try:
        number = parse_decimal(token.text)
        if number.copy_abs() > LARGEST_COORDINATE:
            raise CellError(f"{token.text} is too large", "use a larger unit")
    except CellError as error:
        raise FileError(path, f"line {token.line}", error.what, error.remedy) from None
    return number


def _city_id(path: Path, token: TsplibToken) -> int:
    number = _number(path, token)
    if number != number.to_integral_value():
        what = f"{token.text!r} is not the id of a city"
        raise FileError(path, f"line {token.line}", what, "give whole numbers")
    return int(number)
