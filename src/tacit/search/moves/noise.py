"""Public integer noise: Gumbel noise at a temperature makes selection an annealing step.

The argmax of keys plus Gumbel noise of temperature t is a sample of the distribution with weights
exp(key / t). The quantiles come from integer arithmetic, which is the same everywhere;
logarithms in floating point differ between processors in their last bit.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

FRACTION_BITS = 12
"""The table holds Gumbel noise times 2^12."""
QUANTILES = 4096
_LN2 = 45426
"""ln(2) times 2^16."""
_LOG2_OF_LN2 = -2271034276
"""log2(ln(2)) times 2^32."""
HEAT_STEPS = 1024
"""The number of steps of a temperature from its start to its end."""


def log2_fixed(numbers: NDArray[np.uint64], /) -> NDArray[np.int64]:
    """The binary logarithm times 2^32 of positive numbers below 2^40, bit by bit.

    >>> log2_fixed(np.array([1, 2, 3], dtype=np.uint64)) / 2**32
    array([0.       , 1.       , 1.5849625])
    """
    whole = np.frexp(numbers.astype(np.float64))[1].astype(np.int64) - 1  # exact below 2^53
    up, down = (np.maximum(shift, 0).astype(np.uint64) for shift in (31 - whole, whole - 31))
    y = (numbers << up) >> down  # 1 <= y < 2 in units of 2^-31
    fraction = np.zeros(len(numbers), dtype=np.int64)
    for _ in range(32):
        y = (y * y) >> np.uint64(31)
        bit = y >> np.uint64(32)
        y >>= bit
        fraction = (fraction << 1) | bit.astype(np.int64)
    return (whole << 32) | fraction


@cache
def gumbel_quantiles() -> NDArray[np.int64]:
    """-ln(-ln(u)) times 2^12 at the middle of each of 4096 equal parts of 0..1.

    >>> gumbel_quantiles()[[0, 2048, -1]].tolist()
    [-9005, 1502, 36908]
    """
    odd = 2 * np.arange(QUANTILES, dtype=np.uint64) + np.uint64(1)
    # u = odd / 2^13, so -ln(u) = ln(2) * inner.
    inner = (13 << 32) - log2_fixed(odd)
    outer = log2_fixed(inner.astype(np.uint64)) - (32 << 32) + _LOG2_OF_LN2
    table = (-outer * _LN2) >> (32 + 16 - FRACTION_BITS)
    table.setflags(write=False)
    return table


def gumbel_noise(words: NDArray[np.uint64], temperature: int, /) -> NDArray[np.int64]:
    """Noise at a temperature from random words, one each; rounded down to integers.

    >>> gumbel_noise(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 100)
    array([-220,   36,  901])
    """
    quantiles = gumbel_quantiles()[(words >> np.uint64(64 - 12)).astype(np.intp)]
    return _at(quantiles, temperature)


def _at(quantiles: NDArray[np.int64], temperature: int) -> NDArray[np.int64]:
    if temperature >> 40:  # the product would not fit, and the last bits of it do not matter
        return quantiles * (temperature >> FRACTION_BITS)
    return (quantiles * temperature) >> FRACTION_BITS


def noise_span(temperature: int, /) -> int:
    """The largest difference of two noise values at a temperature.

    >>> noise_span(100)
    1121
    """
    low, high = _at(gumbel_quantiles()[[0, -1]], temperature)
    return int(high - low)


@cache
def temperature_at(step: int, start: int, end: int, /) -> int:
    """The temperature after some of the steps of a geometric cooling from `start` to `end`.

    >>> temperature_at(0, 600, 20), temperature_at(512, 600, 20), temperature_at(1024, 600, 20)
    (600, 110, 20)
    """
    with localcontext() as context:
        context.prec = 28
        ratio = (Decimal(end) / Decimal(start)).ln() * step / HEAT_STEPS
        return int((Decimal(start) * ratio.exp()).to_integral_value())
