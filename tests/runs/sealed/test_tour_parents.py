"""How many parents a sealed search of a tour has, by the time that it has."""

from __future__ import annotations

from tacit.derived import KnownTime, tour_length
from tacit.problems import Problem, generate_tour, shipped_problem
from tacit.runs import sealed_settings
from tacit.search.moves import TourParameters, fitted_parameters


def fitted(problem: Problem, known: KnownTime, **changes: object) -> TourParameters:
    settings = sealed_settings(problem, changes, time=known)
    assert isinstance(settings, TourParameters)
    return settings


def test_more_time_gives_more_parents_and_as_many_meetings() -> None:
    tour = shipped_problem("kroA100")
    found = [fitted(tour, KnownTime(deadline=each)) for each in (2, 10, 30, 60, 300)]
    assert [each.parents for each in found] == [1, 1, 8, 8, 8]
    assert found[0] == fitted_parameters(tour)
    assert found[3].meet_every // found[2].meet_every == 2
    # A tour takes no more generations than these, whatever the time.
    assert found[4].meet_every == tour_length(tour) // 20
    assert [each.children for each in found] == [500, 500, 250, 250, 250]


def test_delays_and_few_agreed_steps_leave_fewer() -> None:
    tour = shipped_problem("kroA100")
    assert fitted(tour, KnownTime(deadline=135, delay=0.01)).parents == 8
    assert fitted(tour, KnownTime(deadline=60, delay=0.05)).parents == 1
    assert fitted(tour, KnownTime(deadline=60, steps=100)).parents == 1
    assert fitted(tour, KnownTime(deadline=None)) == fitted_parameters(tour)
    assert fitted(tour, KnownTime(deadline=60, nodes=4)).parents == 8


def test_what_is_named_is_kept() -> None:
    tour = shipped_problem("kroA100")
    known = KnownTime(deadline=60)
    assert fitted(tour, known, parents=3).parents == 3
    assert fitted(tour, known, parents=3).children == fitted_parameters(tour).children
    assert fitted(tour, known, children=77).parents == 1
    assert fitted(tour, known, heat_end=9).parents == 8
    assert fitted(tour, known, heat_end=9).heat_end == 9


def test_directed_and_large_tours_have_what_nodes_take() -> None:
    assert fitted(generate_tour(1, cities=30), KnownTime(deadline=60)).parents == 8
    assert fitted(generate_tour(1, cities=600), KnownTime(deadline=60)).parents == 1


def test_inversions_that_are_named_leave_no_exchanges_but_named_ones() -> None:
    directed = generate_tour(1, cities=30)
    for swaps, others, exchanges in ((60, {}, 0), (50, {}, 0), (50, {"exchange_percent": 20}, 20)):
        named = sealed_settings(directed, {"swap_percent": swaps, **others})
        assert isinstance(named, TourParameters)
        assert (named.swap_percent, named.exchange_percent) == (swaps, exchanges)
