"""Problems refuse what does not fit, and add up the cells of a plan."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ProblemError
from tacit.problems import Assignment, Objective, Participant, Tour


def matrix(rows: int = 2, columns: int = 3) -> Objective:
    return Objective("pay", np.arange(rows * columns).reshape(rows, columns))


def test_a_problem_without_participants_has_one_owner_of_all_rows() -> None:
    problem = Assignment(name="p", rows=2, columns=3, objectives=(matrix(),))
    assert problem.participants == (Participant("owner", (0, 1)),)


@pytest.mark.parametrize(
    ("participants", "message"),
    [
        ((Participant("a", (0,)),), "row 1 has no owner"),
        ((Participant("a", (0, 1)), Participant("b", (1,))), "row 1 belongs to 'a' and to 'b'"),
        ((Participant("a", (0, 1, 2)),), "owns row 2, but rows are 0 to 1"),
        ((Participant("a", (0,)), Participant("a", (1,))), "two participants are named 'a'"),
    ],
)
def test_every_row_has_one_owner(participants: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Assignment(name="p", rows=2, columns=3, objectives=(matrix(),), participants=participants)


@pytest.mark.parametrize(
    ("names", "message"),
    [(("a",), "1 row names for 2 rows"), (("a", "a"), "the row name 'a' stands twice")],
)
def test_names_are_one_each(names: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Assignment(name="p", rows=2, columns=3, objectives=(matrix(),), row_names=names)


def test_objectives_share_shape_and_have_names_of_their_own() -> None:
    with pytest.raises(ProblemError, match="2 x 2 matrix in a 2 x 3 problem"):
        Assignment(name="p", rows=2, columns=3, objectives=(matrix(2, 2),))
    with pytest.raises(ProblemError, match="share a name"):
        Assignment(name="p", rows=2, columns=3, objectives=(matrix(), matrix()))
    with pytest.raises(ProblemError, match="no objective"):
        Assignment(name="p", rows=2, columns=3, objectives=())


def test_a_bound_that_could_overflow_the_ring_is_refused() -> None:
    fits = Objective("pay", None, weight_bound=2**47 - 1)
    assert Assignment(name="p", rows=2, columns=2, objectives=(fits,)).fitness_bound(0) == 2**48 - 2
    with pytest.raises(ProblemError, match="more than 48 bits"):
        Assignment(
            name="p", rows=2, columns=2, objectives=(Objective("pay", None, weight_bound=2**47),)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.array([[1, -2]])}, "weight -2 in row 0, column 1 is negative"),
        ({"weights": np.array([[1, 9]]), "weight_bound": 5}, "weight 9 .* above the bound 5"),
        ({"weights": None}, "neither weights nor a weight_bound"),
        ({"weights": None, "weight_bound": 1, "sense": "up"}, "'up' is not a sense"),
        ({"weights": None, "weight_bound": 1, "scale": 0}, "scale is 0"),
    ],
)
def test_an_objective_refuses(options: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Objective("pay", **options)


def test_fitness_of_weights_that_are_elsewhere_is_refused() -> None:
    problem = Assignment(
        name="p", rows=2, columns=2, objectives=(Objective("pay", None, weight_bound=3),)
    )
    with pytest.raises(ProblemError, match="participants hold them"):
        problem.fitness(0, np.array([[0, 1]], dtype=np.int32))


def test_weights_cannot_be_changed_behind_the_problem() -> None:
    objective = matrix()
    assert objective.weights is not None
    with pytest.raises(ValueError, match="read-only"):
        objective.weights[0, 0] = 7


@st.composite
def weights_and_plans(draw: st.DrawFn, *, square: bool) -> Any:
    rows = draw(st.integers(2, 6))
    columns = rows if square else rows + draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.integers(0, 2**40, (rows, columns))
    plans = [rng.permutation(columns)[:rows] for _ in range(draw(st.integers(1, 5)))]
    return weights, np.array(plans, dtype=np.int32)


@given(weights_and_plans(square=False))
def test_assignment_sums(case: Any) -> None:
    weights, plans = case
    expected = [sum(int(weights[r, c]) for r, c in enumerate(plan)) for plan in plans]
    size = {"rows": weights.shape[0], "columns": weights.shape[1]}
    problem = Assignment(name="p", objectives=(Objective("o", weights),), **size)
    assert problem.sums(weights, plans).tolist() == expected
    assert problem.cell_sums(weights, plans).tolist() == expected


@given(weights_and_plans(square=True))
def test_tour_sums(case: Any) -> None:
    weights, tours = case
    expected = [sum(int(weights[tour[i - 1], tour[i]]) for i in range(len(tour))) for tour in tours]
    size = {"rows": weights.shape[0], "columns": weights.shape[1]}
    problem = Tour(name="p", objectives=(Objective("o", weights),), **size)
    assert problem.sums(weights, tours).tolist() == expected
    assert problem.cell_sums(weights, tours).tolist() == expected
