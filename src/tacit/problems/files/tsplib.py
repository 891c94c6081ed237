"""Tours from TSPLIB 95 files: .tsp and .atsp problems, .tour and .opt.tour solutions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.files import naming_file
from tacit.problems.files.decimals import CellError, parse_decimal, scale_needed, scaled
from tacit.problems.files.tsplib_distances import LARGEST_COORDINATE, METRICS
from tacit.problems.files.tsplib_text import (
    LAYOUTS,
    Token,
    TsplibText,
    layout_size,
    matrix_from_layout,
    read_tsplib_text,
)
from tacit.problems.model.objective import FITNESS_BITS, Objective
from tacit.problems.model.tour import Tour

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
    limit = (2**FITNESS_BITS - 1) // n
    weights = []
    for token, number in zip(tokens, numbers, strict=True):
        try:
            weights.append(scaled(number, scale, limit=limit))
        except CellError as error:
            raise FileError(text.path, f"line {token.line}", error.what, error.remedy) from None
    return matrix_from_layout(layout, weights, n), scale


def _number(path: Path, token: Token) -> Decimal:
    try:
        number = parse_decimal(token.text)
        if number.copy_abs() > LARGEST_COORDINATE:
            raise CellError(f"{token.text} is too large", "use a larger unit")
    except CellError as error:
        raise FileError(path, f"line {token.line}", error.what, error.remedy) from None
    return number


def _city_id(path: Path, token: Token) -> int:
    number = _number(path, token)
    if number != number.to_integral_value():
        what = f"{token.text!r} is not the id of a city"
        raise FileError(path, f"line {token.line}", what, "give whole numbers")
    return int(number)
