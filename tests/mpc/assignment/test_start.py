"""The first plan: any one if it is drawn, the public one without a message."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
from scipy.stats import chisquare

from tacit.mpc.assignment import AssignmentShape
from tacit.mpc.assignment import start as first_plan
from tacit.mpc.cost import Cost
from tacit.mpc.local import run_parties
from tacit.mpc.shares import reconstruct
from tests.mpc.both import check_cost, three_and_four


@three_and_four
def test_a_drawn_plan_is_any_plan_at_the_declared_cost(nodes: int) -> None:
    shape, seen = AssignmentShape(3, 9, weightings=2), Counter[tuple[int, ...]]()
    for _ in range(60):
        run = run_parties(lambda s: first_plan.drawn_matching(s, shape, label="drawn"), nodes=nodes)
        bits, numbers = (reconstruct([each[k] for each in run.results]) for k in (0, 1))
        assert np.array_equal(bits, numbers)
        assert (numbers.sum(axis=1) == 1).all()
        assert (numbers.sum(axis=2) == 1).all()
        seen[tuple(numbers[0].argmax(axis=1)), tuple(numbers[1].argmax(axis=1))] += 1  # type: ignore[index]
        check_cost(run, first_plan.cost(nodes, shape))
    for which in (0, 1):
        counts = Counter(plans[which] for plans in seen.elements())
        drawn = [counts[order] for order in permutations(range(3))]  # type: ignore[index]
        assert chisquare(drawn).pvalue > 1e-6
    # Each weighting has an order of its own.
    assert any(plans[0] != plans[1] for plans in seen)


@three_and_four
def test_a_public_plan_takes_no_message(nodes: int) -> None:
    shape = AssignmentShape(3, 9, weightings=2)
    places = [[2, 0, 1], [0, 2, 1]]

    async def node(s):  # type: ignore[no-untyped-def]
        return first_plan.public_matching(s, places, shape)

    run = run_parties(node, nodes=nodes)
    for each in (0, 1):
        matched = reconstruct([made[each] for made in run.results])
        assert matched.argmax(axis=1).tolist() == places
        assert (matched.sum(axis=1) == 1).all()
    check_cost(run, Cost.free(nodes))
