"""The order in which weightings of two objectives are bisected, and what need not be solved.

The weightings are agreed, in the order of their ratio. First come both ends, then the middle of
each interval, and so on, level by level. Where both ends of an interval have the same plan, and
that is proved to be the optimum, it is an optimum of everything between: a weighting between is a
sum of multiples of both ends, and no plan is better for either. Another optimum there has the same
value in both objectives. So nothing is lost by leaving the interval out, and nothing more is
learned by it: what is left out follows from opened plans, which everybody may know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tacit.errors import AgreementError


def levels(count: int, /) -> list[list[int]]:
    """The numbers of weightings, level by level.

    >>> levels(6)
    [[0, 5], [2], [1, 3], [4]]
    >>> levels(1)
    [[0]]
    """
    found, intervals = [sorted({0, count - 1})], [(0, count - 1)]
    while intervals := [each for each in intervals if each[1] - each[0] > 1]:
        middles = [(low + high) // 2 for low, high in intervals]
        found.append(middles)
        intervals = [
            part
            for (low, high), middle in zip(intervals, middles, strict=True)
            for part in ((low, middle), (middle, high))
        ]
    return found


def follows(search: int, proved: Mapping[int, Sequence[int]], /) -> bool:
    """Whether the plan of a weighting follows from plans that are `proved`, by their numbers.

    >>> follows(2, {0: [1, 0], 4: [1, 0]}), follows(2, {0: [1, 0], 4: [0, 1]})
    (True, False)
    """
    before = {tuple(plan) for number, plan in proved.items() if number < search}
    return any(tuple(plan) in before for number, plan in proved.items() if number > search)


def check_order(weightings: Sequence[Sequence[int]], /) -> None:
    """Refuse weightings that cannot be bisected: of two objectives, in the order of their ratio."""
    if any(len(each) != 2 for each in weightings):
        raise AgreementError("weightings of two objectives can be bisected; set bisect to false")
    signs = {_turn(first, second) for first, second in pairwise(weightings)}
    if not signs <= {1} and not signs <= {-1}:
        raise AgreementError("to bisect weightings, give them in the order of their ratio")


def _turn(first: Sequence[int], second: Sequence[int]) -> int:
    """Whether the second weighs the first objective less (1), more (-1) or the same."""
    turned = first[0] * second[1] - first[1] * second[0]
    return (turned > 0) - (turned < 0)


def bisected(numbers: Sequence[int], most: int, /) -> Iterator[list[int]]:
    """Groups of at most so many weightings, in the order of bisection; none has two levels."""
    for level in levels(len(numbers)):
        parts = -(-len(level) // most)
        edges = [len(level) * part // parts for part in range(parts + 1)]
        for left, right in pairwise(edges):
            yield [numbers[each] for each in level[left:right]]
