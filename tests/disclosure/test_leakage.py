"""The paper's counts against counting one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacit.disclosure import PAPER_CONFIGURATIONS, parse_disclosure
from tacit.disclosure.leakage import fixed_group_sizes, inequations_between, leakage


@pytest.mark.parametrize("text", PAPER_CONFIGURATIONS)
def test_counts_against_counting_one_by_one(text: str) -> None:
    fitness = np.random.Generator(np.random.PCG64(2)).permutation(70)
    disclosure = parse_disclosure(text)
    levels = disclosure.levels(disclosure.disclose(fitness))
    apart = sum(int(a != b) for a, b in combinations(levels.tolist(), 2))
    assert inequations_between(np.bincount(levels).tolist()) == apart
    sizes = fixed_group_sizes(disclosure, 70)
    if sizes is not None:
        assert inequations_between(sizes) == apart
        assert leakage(text, population=70, evaluations=3).inequations == 3 * apart
