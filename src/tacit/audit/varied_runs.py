"""Look up what the plans of many runs tell together, where masks, rows or columns differ.

Under one problem the same costs have the same best plan, however often it is found. Under another
mask the plan tells what a row takes instead. The figures are those of whoever chooses masks with
the aim to learn, medians over problems, the most of five families of costs with 40 rows
(docs/leakage.md; `studies.benchmarks.varied_runs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.problems import PublicProblem

RUNS = (1, 10, 30, 100, 400)
BY_MASKS: Mapping[float, Sequence[float]] = {
    1 / 16: (0.28, 0.48, 0.51, 0.59, 0.63),
    1 / 8: (0.28, 0.58, 0.64, 0.73, 0.76),
    1 / 4: (0.28, 0.66, 0.77, 0.84, 0.88),
    1 / 2: (0.28, 0.69, 0.87, 0.94, 0.97),
    3 / 4: (0.28, 0.69, 0.87, 0.94, 0.98),
}
"""Correlations after so many runs, by the part of a row's pairs that a mask changes. More may be
changed than has to be, so none is below the one of a smaller part."""
BY_SIZES: Mapping[float, Sequence[float]] = {
    1 / 16: (0.28, 0.34, 0.40, 0.48, 0.56),
    1 / 8: (0.28, 0.38, 0.45, 0.55, 0.66),
    1 / 4: (0.28, 0.42, 0.52, 0.63, 0.74),
    1 / 2: (0.28, 0.44, 0.54, 0.70, 0.83),
    3 / 4: (0.28, 0.44, 0.54, 0.70, 0.86),
}
"""The same by the part of rows and columns that a run leaves out."""


def told_by_plans(runs: int, /, *, masks: float, sizes: float) -> float:
    """Return what the plans of so many runs told, from 0 (nothing) to 1 (everything).

    Parts and numbers of runs that were not measured take the next larger ones; beyond the last its
    figure is returned.

    >>> told_by_plans(80, masks=0.05, sizes=0.0), told_by_plans(1, masks=1.0, sizes=1.0)
    (0.59, 0.28)
    >>> told_by_plans(80, masks=0.0, sizes=0.0)
    0.28
    """
    ways = ((BY_MASKS, masks), (BY_SIZES, sizes))
    return max(_figure(measured, part, runs) for measured, part in ways)


def _figure(measured: Mapping[float, Sequence[float]], part: float, runs: int) -> float:
    if part <= 0:
        return measured[min(measured)][0]
    figures = measured[next((each for each in measured if each >= part), max(measured))]
    return next((f for count, f in zip(RUNS, figures, strict=True) if count >= runs), figures[-1])


def parts_that_differ(problems: Sequence[PublicProblem], /) -> tuple[float, float]:
    """Return by how much masks differ from the first one, and how much of a side is left out.

    >>> from tacit.problems import PublicProblem
    >>> one = PublicProblem("a", "assignment", 4, 4, forbidden=[(0, 1)])
    >>> other = PublicProblem("a", "assignment", 4, 4, forbidden=[(0, 2)])
    >>> parts_that_differ([one, other])
    (0.5, 0.0)
    """
    first = problems[0]
    masks = sizes = 0.0
    for each in problems[1:]:
        pairs = {tuple(pair) for pair in first.forbidden} ^ {tuple(p) for p in each.forbidden}
        changed = Counter(row for row, _ in pairs)
        columns = max(1, min(first.columns, each.columns))
        masks = max(masks, min(1.0, max(changed.values(), default=0) / columns))
        for one, other in ((first.rows, each.rows), (first.columns, each.columns)):
            sizes = max(sizes, 1 - min(one, other) / max(one, other))
    return masks, sizes


def different(problems: Sequence[PublicProblem], /) -> int:
    """Return how many problems differ in their mask, rows or columns."""
    return len(
        {
            (
                each.rows,
                each.columns,
                tuple(each.row_names or ()),
                tuple(each.column_names or ()),
                frozenset(tuple(pair) for pair in each.forbidden),
            )
            for each in problems
        }
    )
