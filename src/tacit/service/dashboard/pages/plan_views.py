"""A plan as people look at it: a table, a matrix of rows and columns, or a map of a tour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tacit.service.dashboard.words import number

MATRIX_LIMIT = 60
"""More rows or columns than this are a table only."""
CELL, LETTER = 18, 7.2
"""Pixels of a square and, at most, of a letter; the picture is never drawn smaller than that."""
ROWS_IN_SIGHT = 60
"""A longer table scrolls by itself, and says so."""
MAP_SIDE, MOST_NAMES = 420, 40
"""Pixels, and how many places have their names written beside them."""


def plan_table(
    pairs: Sequence[tuple[str, str]], /, *, heads: tuple[str, str], owners: Sequence[str] | None
) -> str:
    """What each row gets, with its owner where one is given."""
    head = [heads[0], *(["participant"] if owners else []), heads[1]]
    lines = []
    for i, (row, item) in enumerate(pairs):
        owner = f"<td>{escape(owners[i])}</td>" if owners else ""
        lines.append(f'<tr><th scope="row">{escape(row)}</th>{owner}<td>{escape(item)}</td></tr>')
    cells = "".join(f'<th scope="col">{escape(text.capitalize())}</th>' for text in head)
    long = len(pairs) > ROWS_IN_SIGHT
    caption = f"All {number(len(pairs))} rows; scroll to see them" if long else "The plan"
    return (
        f'<table class="data"><caption class="{"lead" if long else "unseen"}">{caption}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def plan_matrix(
    plan: Sequence[int],
    /,
    *,
    row_names: Sequence[str],
    column_names: Sequence[str],
    forbidden: frozenset[tuple[int, int]] = frozenset(),
) -> str:
    """An assignment as a picture: a filled square where a row has its column."""
    rows, columns = len(row_names), len(column_names)
    if rows > MATRIX_LIMIT or columns > MATRIX_LIMIT:
        return ""
    left = 12 + LETTER * max(len(name) for name in row_names)
    # Names of columns stand at 60 degrees.
    tall = LETTER * max(len(name) for name in column_names)
    top, width = 12 + 0.87 * tall, left + columns * CELL + 0.5 * tall + 8
    shapes = []
    for r in range(rows):
        y = top + r * CELL
        shapes.append(
            f'<text x="{left - 6:.0f}" y="{y + 13:.0f}" text-anchor="end">'
            f"{escape(row_names[r])}</text>"
        )
        for c in range(columns):
            kind = "taken" if plan[r] == c else "barred" if (r, c) in forbidden else "open"
            shapes.append(
                f'<rect class="{kind}" x="{left + c * CELL + 1:.0f}" y="{y + 1:.0f}" '
                f'width="{CELL - 2}" height="{CELL - 2}" rx="2"/>'
            )
    for c, name in enumerate(column_names):
        at = f"translate({left + c * CELL + 12:.0f} {top - 6:.0f}) rotate(-60)"
        shapes.append(f'<text transform="{at}">{escape(name)}</text>')
    height = top + rows * CELL + 4
    return (
        f'<svg class="matrix" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" '
        f'aria-label="Rows and columns of the plan; the table says the same">'
        f"{''.join(shapes)}</svg>{matrix_legend(has_barred=bool(forbidden))}"
    )


def matrix_legend(*, has_barred: bool) -> str:
    """What the squares mean."""
    barred = '<span class="key box barred"></span> may not have' if has_barred else ""
    return (
        '<p class="legend"><span class="key box taken"></span> gets '
        f'<span class="key box"></span> could have had {barred}</p>'
    )


def tour_map(
    tour: Sequence[int], coordinates: Sequence[Sequence[float]], names: Sequence[str], /
) -> str:
    """A tour through its cities."""
    xs, ys = [point[0] for point in coordinates], [point[1] for point in coordinates]
    scale = MAP_SIDE / max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    has_names = len(names) <= MOST_NAMES
    # A name beside a place on the right edge needs room.
    beside = LETTER * max(len(name) for name in names) if has_names else 0.0
    placed = [
        (20 + (x - min(xs)) * scale, 20 + (max(ys) - y) * scale)
        for x, y in zip(xs, ys, strict=True)
    ]
    way = " ".join(f"{placed[city][0]:.1f},{placed[city][1]:.1f}" for city in tour)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(name)}</title></circle>'
        + (f'<text x="{x + 7:.1f}" y="{y - 5:.1f}">{escape(name)}</text>' if has_names else "")
        for (x, y), name in zip(placed, names, strict=True)
    )
    width = 40 + (max(xs) - min(xs)) * scale + beside
    height = 40 + (max(ys) - min(ys)) * scale
    return (
        f'<svg class="map" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" '
        f'aria-label="A map of the tour; the table says the same">'
        f'<polygon points="{way}"/>{dots}</svg>'
    )
