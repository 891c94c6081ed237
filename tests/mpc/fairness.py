"""Whether bits that should be random are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

LIKELY = 5
"""Standard deviations; what lies beyond is not chance."""


def check_every_bit_is_fair(samples: Iterable[bytes]) -> None:
    """Each bit is 1 in about half of the samples."""
    bits = np.array([np.unpackbits(np.frombuffer(each, dtype=np.uint8)) for each in samples])
    deviation = abs(bits.mean(axis=0) - 0.5) * 2 * np.sqrt(len(bits))
    assert deviation.max() < LIKELY
