"""The Pareto score in the clear, number by number from its definition."""

from collections.abc import Sequence

Values = Sequence[Sequence[int]]
"""A line per objective."""


def dominates(values: Values, i: int, j: int) -> bool:
    at_least = all(line[i] >= line[j] for line in values)
    better = any(line[i] > line[j] for line in values)
    return at_least and (better or i < j) and i != j


def rounded_up(span: int) -> int:
    """The smallest number of at most 4 significant bits that is not below the span."""
    unit = 1
    while span > 16 * unit - unit:
        unit *= 2
    return -(-span // unit) * unit


def order_of(values: Values, k: int) -> list[int]:
    others = [sum(line[i] for line in values) - values[k][i] for i in range(len(values[0]))]
    return sorted(
        range(len(values[0])), key=lambda i: (-values[k][i], -others[i] if k == 0 else 0, i)
    )


def crowding(values: Values, spans: Sequence[int]) -> list[int]:
    m, n = len(values), len(values[0])
    found = [max(line) - min(line) + 1 for line in values]
    whole = 2 ** (max(spans).bit_length() + 4)
    total = [0] * n
    index = (n - 1).bit_length()
    exact = m == 2 and (4 * (spans[0] + 1) * (spans[1] + 1)).bit_length() + 2 * index + 1 <= 64
    for k, line in enumerate(values):
        order = order_of(values, k)
        for rank, i in enumerate(order):
            is_end = rank in (0, n - 1)
            gap = 0 if is_end else line[order[rank - 1]] - line[order[rank + 1]]
            if exact:
                total[i] += (2 * found[k] if is_end else gap) * found[1 - k]
            else:
                total[i] += m * whole if is_end else gap * (whole // rounded_up(found[k]))
    return total


def ranks(values: Values, spans: Sequence[int]) -> list[int]:
    """0 for the best."""
    n = len(values[0])
    counts = [sum(dominates(values, j, i) for j in range(n)) for i in range(n)]
    room = crowding(values, spans)
    order = sorted(range(n), key=lambda i: (counts[i], -room[i], i))
    return [order.index(i) for i in range(n)]
