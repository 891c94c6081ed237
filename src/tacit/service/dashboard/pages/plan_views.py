"""A plan as people look at it: a table, a matrix of rows and columns, or a map of a tour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MATRIX_LIMIT = 60
"""More rows or columns than this are a table only."""


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
    return (
        f'<table class="data"><caption class="unseen">The plan</caption>'
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
    cell, left, top = 16, 96, 64
    shapes = []
    for r in range(rows):
        y = top + r * cell
        shapes.append(
            f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{escape(row_names[r])}</text>'
        )
        for c in range(columns):
            kind = "taken" if plan[r] == c else "barred" if (r, c) in forbidden else "open"
            shapes.append(
                f'<rect class="{kind}" x="{left + c * cell + 1}" y="{y + 1}" width="{cell - 2}" '
                f'height="{cell - 2}" rx="2"/>'
            )
    for c, name in enumerate(column_names):
        x = left + c * cell + 11
        shapes.append(
            f'<text transform="translate({x} {top - 6}) rotate(-60)">{escape(name)}</text>'
        )
    width, height = left + columns * cell + 24, top + rows * cell + 4
    return (
        f'<svg class="matrix" viewBox="0 0 {width} {height}" style="max-width: {width}px" '
        f'role="img" aria-label="Rows and columns of the plan; the table says the same">'
        f"{''.join(shapes)}</svg>"
    )


def tour_map(
    tour: Sequence[int], coordinates: Sequence[Sequence[float]], names: Sequence[str], /
) -> str:
    """A tour through its cities."""
    xs, ys = [point[0] for point in coordinates], [point[1] for point in coordinates]
    scale = 560 / max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    placed = [
        (20 + (x - min(xs)) * scale, 20 + (max(ys) - y) * scale)
        for x, y in zip(xs, ys, strict=True)
    ]
    way = " ".join(f"{placed[city][0]:.1f},{placed[city][1]:.1f}" for city in tour)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(name)}</title></circle>'
        for (x, y), name in zip(placed, names, strict=True)
    )
    width = 40 + (max(xs) - min(xs)) * scale
    height = 40 + (max(ys) - min(ys)) * scale
    return (
        f'<svg class="map" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="A map of the tour; the table says the same">'
        f'<polygon points="{way}"/>{dots}</svg>'
    )
