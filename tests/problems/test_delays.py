"""Synthetic delay costs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.problems import generate_delays, load_problem, optimum, save_problem
from tacit.problems.delays import LARGEST_COST, Flight, draw_flights
from tacit.problems.generators import seeded_generator

sizes = st.integers(1, 12).flatmap(lambda m: st.tuples(st.just(m), st.integers(m, 2 * m + 3)))


@given(st.integers(0, 2**64), sizes, st.data())
def test_costs_are_nothing_in_the_margin_and_never_fall(
    seed: int, size: tuple[int, int], data: st.DataObject
) -> None:
    flights, slots = size
    airlines = data.draw(st.integers(1, flights))
    problem = generate_delays(seed, flights=flights, slots=slots, airlines=airlines)
    weights, forbidden = problem.objectives[0].weights, problem.forbidden
    assert weights is not None
    assert forbidden is not None
    assert weights.min() >= 0
    assert weights.max() <= LARGEST_COST == problem.objectives[0].weight_bound
    for costs, too_early in zip(weights.tolist(), forbidden.tolist(), strict=True):
        first = too_early.index(False)
        assert not any(too_early[first:])
        open_costs = costs[first:]
        assert open_costs[0] == 0
        assert all(later >= earlier for earlier, later in pairwise(open_costs))


@given(st.integers(0, 2**64), st.integers(1, 20))
def test_between_its_jumps_a_cost_grows_ever_faster(seed: int, count: int) -> None:
    times = [360 + 3 * i for i in range(count)]
    for flight in draw_flights(seeded_generator(seed), count, times):
        costs = [flight.time_cost(delay) for delay in range(200)]
        assert not any(costs[: flight.margin + 1])
        growth = [after - before for before, after in pairwise(costs)]
        # Rounding down to whole euro may take one from a step of growth.
        assert all(later >= earlier - 1 for earlier, later in pairwise(growth))
        jumps = [after for after, _ in flight.connections]
        jumps += [flight.curfew[0]] if flight.curfew else []
        for delay in range(199):
            step = flight.cost(delay + 1) - flight.cost(delay)
            if flight.cost(delay + 1) < LARGEST_COST:
                jumped = step - growth[delay]
                assert (jumped > 0) == (delay in jumps)


@given(st.integers(0, 2**64), sizes)
def test_the_same_seed_gives_the_same_problem(seed: int, size: tuple[int, int]) -> None:
    one, two = (generate_delays(seed, flights=size[0], slots=size[1], airlines=1) for _ in "12")
    assert np.array_equal(one.objectives[0].weights, two.objectives[0].weights)  # type: ignore[arg-type]
    assert np.array_equal(one.forbidden, two.forbidden)  # type: ignore[arg-type]


def test_a_morning_is_worth_optimizing() -> None:
    """Congestion costs something, and much less in the best plan than first come, first served."""
    problem = generate_delays(1, flights=30, slots=45)
    weights = problem.objectives[0].weights
    assert weights is not None
    best = optimum(problem)
    assert best is not None
    served = np.zeros(45, dtype=bool)
    total = 0
    assert problem.forbidden is not None
    for row in np.argsort(problem.forbidden.sum(axis=1), kind="stable"):
        slot = next(j for j in range(45) if not problem.forbidden[row, j] and not served[j])
        served[slot] = True
        total += int(weights[row, slot])
    assert 0 < best.value < 0.8 * total


def test_airlines_and_names() -> None:
    problem = generate_delays(3, flights=41, airlines=14, number=2)
    assert problem.name == "delays41x61-02"
    names = [participant.name for participant in problem.participants]
    assert names[0] == "amber"
    assert names[-2:] == ["airline-13", "airline-14"]
    assert problem.row_names is not None
    for participant in problem.participants:
        for row in participant.rows:
            assert problem.row_names[row].startswith(participant.name + " ")


def test_it_is_read_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("delays") / "d.json"
    problem = generate_delays(5, flights=6)
    save_problem(problem, path)
    again = load_problem(path)
    assert again.row_names == problem.row_names
    assert again.column_names == problem.column_names
    assert again.participants == problem.participants
    assert np.array_equal(again.objectives[0].weights, problem.objectives[0].weights)  # type: ignore[arg-type]


def test_a_flight_past_its_curfew() -> None:
    flight = Flight(scheduled=400, margin=5, passengers=200, curfew=(60, 30_000))
    assert flight.cost(61) - flight.cost(60) > 30_000
    assert flight.cost(10_000) == LARGEST_COST


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flights": 5, "slots": 4}, "5 flights cannot each get one of 4 slots"),
        ({"flights": 0}, "0 flights cannot"),
        ({"flights": 3, "airlines": 4}, "4 participants cannot share 3 rows"),
        ({"slot_minutes": 0}, "slots of 0 minutes"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_drawn(options: dict[str, int], message: str) -> None:
    seed = options.pop("seed", 1)
    with pytest.raises(ParameterError, match=message):
        generate_delays(seed, **options)  # type: ignore[arg-type]
