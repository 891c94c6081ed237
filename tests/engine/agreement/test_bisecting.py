"""The order of bisection, and what follows from equal plans."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.engine.agreement.bisecting import bisected, check_order, follows, levels
from tacit.errors import AgreementError


@given(count=st.integers(1, 130), most=st.integers(1, 20))
def test_every_weighting_is_in_one_group_after_the_ends_of_its_interval(
    count: int, most: int
) -> None:
    groups = list(bisected(range(count), most))
    assert sorted(each for group in groups for each in group) == [*range(count)]
    assert all(len(group) <= most for group in groups)
    done: set[int] = set()
    for level in levels(count):
        assert not done or {0, count - 1} <= done
        assert not done & set(level)
        # Between any two of a level lies one that was before.
        assert not done or all(
            any(low < each < high for each in done) for low, high in pairwise(level)
        )
        done |= set(level)


def test_a_plan_follows_from_equal_ones_at_both_sides_alone() -> None:
    proved = {0: [0, 1], 3: [0, 1], 6: [1, 0]}
    assert [follows(k, proved) for k in (1, 2, 4, 5, 7)] == [True, True, False, False, False]


def test_only_ordered_weightings_of_two_objectives_are_bisected() -> None:
    check_order([(1, 0), (3, 1), (1, 1), (0, 1)])
    check_order([(0, 1), (1, 1), (1, 0)])
    for wrong in ([(1, 0), (0, 1), (1, 1)], [(1, 1), (2, 2)], [(1, 0, 0), (0, 1, 0)]):
        with pytest.raises(AgreementError, match="bisect"):
            check_order(wrong)
