"""Public noise in whole numbers: Gumbel noise at a temperature makes selection an annealing step.

Whoever has the largest key plus Gumbel noise of temperature t is a sample of the distribution with
weights exp(key / t). The quantiles come from decimal arithmetic, which rounds the same way
everywhere; binary logarithms differ between processors in their last bit.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

FRACTION_BITS = 12
"""The table holds Gumbel noise times 2^12."""
QUANTILES = 4096
HEAT_STEPS = 1024
"""So many steps a temperature takes from its start to its end."""


@cache
def gumbel_quantiles() -> NDArray[np.int64]:
    """-ln(-ln(u)) times 2^12 at the middle of each of 4096 equal parts of 0..1.

    >>> table = gumbel_quantiles()
    >>> table[[0, 2048, -1]].tolist()
    [-9005, 1503, 36908]
    """
    with localcontext() as context:
        context.prec = 28
        scale = Decimal(1 << FRACTION_BITS)
        values = [
            int((-(-(Decimal(2 * i + 1) / (2 * QUANTILES)).ln()).ln() * scale).to_integral_value())
            for i in range(QUANTILES)
        ]
    table = np.array(values, dtype=np.int64)
    table.setflags(write=False)
    return table


def gumbel_noise(words: NDArray[np.uint64], temperature: int, /) -> NDArray[np.int64]:
    """Noise at a temperature from random words, one each; rounded down to whole numbers.

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
    """The largest difference of two noises at a temperature.

    >>> noise_span(100)
    1121
    """
    low, high = _at(gumbel_quantiles()[[0, -1]], temperature)
    return int(high - low)


@cache
def temperature_at(step: int, start: int, end: int, /) -> int:
    """The temperature after so many of the steps from `start` to `end`, by equal ratios.

    >>> temperature_at(0, 600, 20), temperature_at(512, 600, 20), temperature_at(1024, 600, 20)
    (600, 110, 20)
    """
    with localcontext() as context:
        context.prec = 28
        ratio = (Decimal(end) / Decimal(start)).ln() * step / HEAT_STEPS
        return int((Decimal(start) * ratio.exp()).to_integral_value())
