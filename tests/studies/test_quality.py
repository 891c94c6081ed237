from __future__ import annotations

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from studies.evaluation.instances import InstanceSpec, reference_of
from studies.evaluation.run import run_search
from studies.evaluation.study import SearchJob
from studies.statistics import distances_plus, normalized, relative_error

from tacit.problems import optimum

Points = np.ndarray[tuple[int, int], np.dtype[np.float64]]
point_sets = st.integers(1, 9).flatmap(
    lambda count: arrays(np.float64, (count, 2), elements=st.integers(-50, 50).map(float))
)


def shortfalls(found: Points, truth: Points) -> Points:
    """Row by row and column by column, as Ishibuchi et al. define it for maximization."""
    table = np.zeros((len(found), len(truth)))
    for i, a in enumerate(found):
        for j, z in enumerate(truth):
            table[i, j] = sum(max(z[k] - a[k], 0) ** 2 for k in range(2)) ** 0.5
    return table


@given(point_sets, point_sets)
def test_distances_are_those_of_the_definition(found: Points, truth: Points) -> None:
    table = shortfalls(found, truth)
    gd, igd = table.min(axis=1).mean(), table.min(axis=0).mean()
    assert distances_plus(found, truth) == pytest.approx((gd, igd), abs=1e-9)


def test_distances_are_those_of_a_library() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    found, truth = rng.normal(0, 9000, (150, 2)), rng.normal(20_000, 9000, (300, 2))
    gd = float(moocore.igd_plus(truth, ref=found, maximise=False))
    igd = float(moocore.igd_plus(found, ref=truth, maximise=True))
    assert distances_plus(found, truth) == pytest.approx((gd, igd), rel=1e-12)


def test_repeated_points_count_as_often_as_they_come() -> None:
    truth = np.array([[10.0, 10.0]])
    assert distances_plus(np.array([[10.0, 10], [10, 4], [10, 4]]), truth)[0] == 4


def test_normalized_puts_the_truth_between_nadir_and_ideal() -> None:
    truth = np.array([[2.0, 30.0], [4.0, 10.0]])
    assert normalized(truth, truth).tolist() == [[0, 1], [1, 0]]
    assert normalized(np.array([[3.0, 40.0]]), truth).tolist() == [[0.5, 1.5]]
    assert normalized(np.array([[3.0, 40.0]]), np.array([[3.0, 5.0]])).tolist() == [[0, 35]]


def test_relative_error_of_gains_and_costs() -> None:
    assert relative_error(98, 100) == pytest.approx(0.02)
    assert relative_error(22146, 21294) == pytest.approx(0.04, abs=1e-4)
    assert relative_error(0, 0) == 0


def test_metrics_of_a_run_are_those_of_its_sets() -> None:
    spec = InstanceSpec(generate="assignment", size=9, seed=3)
    settings = (("elites", 2), ("population", 20), ("tournament", 3))
    single = run_search(
        SearchJob(instance=spec, settings=settings, disclosure="top:4", generations=15)
    )
    best = optimum(reference_of(spec).problem)
    assert best is not None
    means = single.metrics["mean_fitness"]
    np.testing.assert_allclose(single.metrics["relative_error"], 1 - means / best.value)
    assert means[-1] == pytest.approx(single.front.mean())
    assert single.metrics["best_fitness"][-1] == single.front.max()

    two = InstanceSpec(generate="assignment", size=9, seed=3, objectives=2)
    crowded = (
        ("algorithm", "nsga2"), ("elites", 0), ("population", 20), ("reevaluate_parents", True)
    )  # fmt: skip
    several = run_search(
        SearchJob(instance=two, settings=crowded, disclosure="order", generations=15)
    )
    truth = reference_of(two).truth
    assert truth is not None
    assert several.metrics["set_size"][-1] == len(several.front)
    even = normalized(several.front, truth), normalized(truth, truth)
    for suffix, points in (("", (several.front, truth)), ("_normalized", even)):
        last = [several.metrics[f"{name}{suffix}"][-1] for name in ("gd_plus", "igd_plus")]
        assert tuple(last) == distances_plus(*points)
