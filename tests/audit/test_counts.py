from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacit.audit.measure import candidate_names, counts_of
from tacit.audit.view import View, view_of
from tests.audit.example import example_record, example_view


def counted_by_hand(view: View) -> int:
    """Every pair of different candidates that some evaluation put into different groups."""
    met = set()
    keys = [tuple(sorted(row)) for row in view.cells.tolist()]
    for evaluation in range(view.evaluations):
        places = np.flatnonzero(view.evaluation_of == evaluation).tolist()
        first = {keys[place]: place for place in reversed(places)}
        for one, other in combinations(sorted(first.values()), 2):
            if view.levels[one] != view.levels[other]:
                met.add(frozenset((keys[one], keys[other])))
    return len(met)


@pytest.mark.parametrize("disclosure", ["order", "quantiles:3", "buckets:4", "top:5", "above:70"])
def test_counts_are_those_by_hand(disclosure: str) -> None:
    view = example_view(disclosure)
    assert counts_of(view).inequations == counted_by_hand(view)
    at_most = counts_of(view, repeats=True)
    assert (at_most.inequations or 0) >= counted_by_hand(view)


def test_equations_are_between_distinct_candidates() -> None:
    view = example_view("none")
    distinct = len({tuple(sorted(row)) for row in view.cells.tolist()})
    assert len(np.unique(candidate_names(view))) == distinct
    assert counts_of(view).equations == distinct * (distinct - 1) // 2
    assert counts_of(view, repeats=True).equations == 900 * 899 // 2


def test_across_populations_only_where_the_best_is_disclosed() -> None:
    view = view_of(example_record("order", generations=5))
    assert view.best is not None
    silent = view_of(example_record("order", generations=5, best="nothing"))
    assert counts_of(silent).across_populations == 0
    by_hand = sum(29 for low in view.best.tolist() for high in view.best.tolist() if high > low)
    assert counts_of(view, repeats=True).across_populations == by_hand
