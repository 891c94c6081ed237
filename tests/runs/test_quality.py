"""The search finds what the design's reference points say, within the spread between runs."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from tacit.problems import generate_assignment, ground_truth, shipped_problem
from tacit.runs import Limits
from tests.runs.flat import solve_with
from tests.support.simulated import solve

pytestmark = pytest.mark.slow

SEEDS = (1, 2, 3)


@pytest.mark.parametrize(
    ("disclosure", "reference"), [("none", 97.96), ("top:15", 97.85), ("quantiles:5", 96.83)]
)
def test_assignments_of_100_reach_the_reference_in_percent_of_the_optimum(
    disclosure: str, reference: float
) -> None:
    problem = generate_assignment(1)
    percent = []
    for seed in SEEDS:
        result = solve(problem, disclose=disclosure, limits=Limits(generations=500), seed=seed)
        assert result.history.actual_mean is not None
        assert result.optimum is not None
        # The paper reports the mean actual value of the estimated-best set.
        percent.append(100 * result.history.actual_mean[-1][0] / result.optimum)
    assert median(percent) == pytest.approx(reference, abs=1.2)


def test_krod100_reaches_the_reference_length() -> None:
    problem = shipped_problem("kroD100")
    lengths = []
    for seed in SEEDS:
        result = solve(problem, disclose="none", limits=Limits(generations=500), seed=seed)
        assert result.value is not None
        lengths.append(result.value[0])
    assert median(lengths) == pytest.approx(22618, rel=0.07)


def test_two_objectives_reach_the_reference_distance_from_the_ground_truth() -> None:
    problem = generate_assignment(1, objectives=2)
    truth = ground_truth(problem).values.astype(np.float64)
    distances = []
    for seed in SEEDS:
        result = solve(problem, disclose="none", limits=Limits(generations=500), seed=seed)
        front = np.array(result.estimated_best.actual, dtype=np.float64)
        # GD+ (Ishibuchi et al. 2015), to be maximized: only what is missing counts.
        missing = np.maximum(truth[None, :, :] - front[:, None, :], 0)
        distances.append(float(np.sqrt((missing**2).sum(axis=2)).min(axis=1).mean()))
    assert 4500 < median(distances) < 8000


def test_more_disclosure_finds_better_plans() -> None:
    problem = generate_assignment(2)
    by_disclosure = {
        disclosure: median(
            float(
                (solve_with(problem, disclose=disclosure, generations=300, seed=seed).value or [0])[
                    0
                ]
            )
            for seed in SEEDS
        )
        for disclosure in ("none", "quantiles:5", "buckets:5")
    }
    assert by_disclosure["none"] > by_disclosure["quantiles:5"]
    assert by_disclosure["none"] > by_disclosure["buckets:5"]
