"""Sealed runs in agreements: settings that contradict each other or the problem."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace as changed
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import pin_sealed
from tacit.agreement.draft import check_agreement, check_sealed
from tacit.agreement.sealed_run import StageKind
from tacit.agreement.terms import Agreement, Ownership, PinnedSearch
from tacit.errors import AgreementError
from tacit.problems import Assignment, Objective, Problem, generate_assignment
from tacit.runs import default_weightings, even_weightings
from tacit.search.moves import AssignmentParameters, TourParameters
from tests.on_nodes.owners_cast import owners_cast
from tests.on_nodes.sealed_agreed_cluster import assignment_group, partly_forbidden, symmetric_tour

SETTINGS = AssignmentParameters(generations=2, iterations=12, checkpoints="4:8", least=4, gap=10)


def agreed(parameters: Any = SETTINGS, problem: Problem | None = None, **of: Any) -> Agreement:
    return owners_cast(problem=problem, parameters=parameters, plan_for="everybody", **of).agreement


def with_settings(agreement: Agreement, parameters: Any, steps: int | None = None) -> Agreement:
    limits = replace(agreement.limits, evaluations=parameters.steps if steps is None else steps)
    return replace(agreement, search=pin_sealed(parameters), limits=limits)


def test_all_settings_come_back_and_steps_count_from_the_start() -> None:
    agreement = agreed()
    run = agreement.sealed_run
    assert run.parameters == SETTINGS
    assert (run.steps, run.least_steps, run.checkpoints, run.gap) == (14, 6, (6, 10), 10)
    assert [(stage.kind, stage.first, stage.end) for stage in run.stages] == [
        (StageKind.START, 0, 0),
        (StageKind.DESCENT, 0, 2),
        (StageKind.CYCLES, 2, 14),
    ]


def test_a_batch_is_cut_into_the_stages_that_it_reaches() -> None:
    run = agreed().sealed_run

    def kinds(first: int, end: int) -> list[tuple[StageKind, int, int]]:
        return [(each.kind, each.first, each.end) for each in run.stages_between(first, end)]

    assert kinds(0, 0) == [(StageKind.START, 0, 0)]
    assert kinds(0, 2) == [(StageKind.DESCENT, 0, 2)]
    assert kinds(1, 5) == [(StageKind.DESCENT, 1, 2), (StageKind.CYCLES, 2, 5)]
    assert kinds(2, 14) == [(StageKind.CYCLES, 2, 14)]
    tour = agreed(TourParameters(), symmetric_tour()).sealed_run
    assert [each.kind for each in tour.stages_between(3, 9)] == [StageKind.ANNEALING]


@pytest.mark.parametrize(
    ("changes", "steps", "why"),
    [
        ({}, 13, "14 generations and iterations"),
        ({}, 15, "14 generations and iterations"),
        ({"iterations": 0, "least": 0, "checkpoints": ""}, 2, "2 generations and iterations"),
        ({"least": 13}, None, "13 iterations at least of 12"),
        ({"checkpoints": "4:12"}, None, "after iteration 12 of 12"),
        ({"checkpoints": "13"}, None, "after iteration 13 of 12"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    changes: dict[str, Any], steps: int | None, why: str
) -> None:
    with pytest.raises(AgreementError, match=why):
        check_agreement(with_settings(agreed(), changed(SETTINGS, **changes), steps))


def test_settings_that_there_are_not_are_refused() -> None:
    agreement = agreed()
    parameters = {**agreement.search.parameters, "speed": 1}
    search = PinnedSearch("sealed", parameters, None)
    with pytest.raises(AgreementError, match="no setting 'speed'"):
        check_agreement(replace(agreement, search=search))


@pytest.mark.parametrize(
    ("name", "value"),
    [("lag", 2), ("iterations", -1), ("gap", 1), ("checkpoints", "8:4"), ("seconds", "soon")],
)
def test_settings_out_of_their_range_are_refused(name: str, value: Any) -> None:
    agreement = agreed()
    search = PinnedSearch("sealed", {**agreement.search.parameters, name: value}, None)
    with pytest.raises(AgreementError, match="settings are wrong"):
        check_agreement(replace(agreement, search=search))


def test_settings_are_those_of_the_kind_of_problem() -> None:
    with pytest.raises(AgreementError, match="settings of another kind"):
        agreed(TourParameters())
    with pytest.raises(AgreementError, match="settings of another kind"):
        agreed(SETTINGS, symmetric_tour())
    tour = agreed(TourParameters(), symmetric_tour())
    for name in ("gap", "checkpoints", "least"):
        search = PinnedSearch("sealed", {**tour.search.parameters, name: 4}, None)
        with pytest.raises(AgreementError, match=f"no setting '{name}'"):
            check_agreement(replace(tour, search=search))


def test_words_before_a_plan_are_opened_as_agreed() -> None:
    """Value, proof and gap come before the columns; the value stays closed unless it was agreed."""
    run = agreed().sealed_run
    assert (run.opens_value, run.heads, run.opened_heads) == (False, 3, 2)
    run = changed(run, opens_value=True, parameters=changed(SETTINGS, gap=0))
    assert (run.heads, run.opened_heads) == (2, 2)


def test_objectives_are_sealed_together_and_no_weighting_comes_twice() -> None:
    agreement = agreed()
    open_one = replace(agreement.objectives[0], name="open", disclosure="top:1")
    with pytest.raises(AgreementError, match="one objective is sealed"):
        check_sealed(replace(agreement, objectives=[*agreement.objectives, open_one]))
    pair = tuple(Objective(name, None, weight_bound=9) for name in ("pay", "rest"))
    problem = changed(generate_assignment(1, rows=6, columns=8), objectives=pair)
    run = changed(agreement.sealed_run, problem=problem, weightings=((1, 2), (2, 1)))
    run.check()
    for twice in (((1, 2), (2, 4)), ((0, 1), (0, 3)), ((1, 2), (1, 2))):
        with pytest.raises(AgreementError):
            changed(run, weightings=twice).check()


def test_whether_the_best_improved_is_not_disclosed() -> None:
    agreement = agreed()
    pay = replace(agreement.objectives[0], best="improvement")
    with pytest.raises(AgreementError, match="no plans on the way"):
        check_agreement(replace(agreement, objectives=[pay]))


def test_of_few_weightings_there_may_be_128() -> None:
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    agreed(problem=problem, weightings=[(k, 128 - k) for k in range(1, 128, 2)])
    with pytest.raises(AgreementError, match="1 to 128"):
        agreed(problem=problem, weightings=[(k, 257 - k) for k in range(1, 130)])


def of_bounds(*bounds: int) -> Problem:
    """Whose objectives have these bounds, as decimals where the bound is large."""
    pay = generate_assignment(1, rows=4, participants=3)
    objectives = [
        Objective(f"{k}", None, weight_bound=bound, scale=max(1, bound // 1000))
        for k, bound in enumerate(bounds)
    ]
    return changed(pay, objectives=tuple(objectives), proven=True)


@pytest.mark.parametrize(
    ("bounds", "weightings"),
    [
        # Multiples, whatever the bounds are.
        ((10, 1000), [(2, 1), (6, 3)]),
        # The second objective is worth a thousandth of the first at most, so all are of the first.
        ((1000_000, 1), [(1 + k, 1) for k in range(32)]),
        ((1, 1), [((1 << 20) - k, 1) for k in range(32)]),
        ((1, 1), [(1 << 20, k) for k in range(32)]),
        ((1, 1), [(1, 0), (2000, 1)]),
        # Decimals: bounds count in steps of the scale.
        ((10_000_000, 1000), [(1, 1), (1, 2)]),
        # Two that decide nothing together with one that does.
        ((100_000, 1, 1), [(1, 1, 0), (1, 0, 1)]),
        ((100_000, 100_000, 1), [(1, 1, 0), (1, 2, 0), (2, 4, 7)]),
    ],
)
def test_weightings_that_hardly_differ_in_what_counts_are_one(
    bounds: tuple[int, ...], weightings: list[tuple[int, ...]]
) -> None:
    """Else many plans of one matrix would be opened, for objectives that decide nothing."""
    with pytest.raises(AgreementError, match="two plans of one"):
        agreed(problem=of_bounds(*bounds), weightings=weightings)


@pytest.mark.parametrize(
    ("bounds", "weightings"),
    [
        # Factors that make up for bounds.
        ((1000_000, 1), [(1, 1_000_000), (1, 500_000), (1, 0)]),
        ((1000, 1), [(k, 1000 * (127 - k)) for k in range(128)]),
        ((100_000, 100_000, 1), [(1, 1, 0), (1, 2, 0), (0, 0, 7)]),
    ],
)
def test_weightings_that_differ_are_taken(
    bounds: tuple[int, ...], weightings: list[tuple[int, ...]]
) -> None:
    agreed(problem=of_bounds(*bounds), weightings=weightings)


@pytest.mark.parametrize("bounds", [(1000, 1000), (1000, 501), (7, 50_000), (100, 1200)])
def test_the_usual_weightings_are_taken_whatever_the_bounds(bounds: tuple[int, ...]) -> None:
    problem = of_bounds(*bounds)
    for weightings in (default_weightings(problem), even_weightings(problem, 128)):
        agreed(problem=problem, weightings=weightings)


def test_an_objective_that_decides_nothing_is_refused() -> None:
    """Each of its weightings would be one of the rest."""
    with pytest.raises(AgreementError, match="bound and scale must be positive"):
        agreed(problem=of_bounds(1000, 0), weightings=[(1, k) for k in range(32)])
    agreement = agreed()
    nothing = replace(agreement.objectives[0], weight_bound=0)
    with pytest.raises(AgreementError, match="bound and scale must be positive"):
        check_agreement(replace(agreement, objectives=[nothing]))


def test_a_public_objective_is_not_sealed() -> None:
    """Whoever chooses its weights would choose what the plan is found for."""
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    agreement = agreed(problem=problem)
    joy = replace(
        agreement.objectives[1], confidential=False, owners=[], public_weights=f"{7:064x}"
    )
    with pytest.raises(AgreementError, match="none public"):
        check_agreement(replace(agreement, objectives=[agreement.objectives[0], joy]))


def test_weightings_together_are_those_that_are_named() -> None:
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    weightings = [(k, 7 - k) for k in range(7)]
    for together, groups in ((0, [7]), (7, [7]), (3, [2, 2, 3]), (1, [1] * 7)):
        agreement = agreed(changed(SETTINGS, together=together), problem, weightings=weightings)
        assert [len(each.searches) for each in agreement.sealed_run.groups] == groups


def test_the_start_is_public_only_where_pairs_are_forbidden() -> None:
    assert assignment_group(agreed()).start is None
    problem = partly_forbidden()
    public = assignment_group(agreed(problem=problem))
    assert public.start is not None
    assert sorted(public.start) == list(range(8))
    assert problem.forbidden is not None
    assert not problem.forbidden[np.arange(6), list(public.start[:6])].any()


def test_a_mask_without_a_plan_is_refused() -> None:
    """Two rows may have one column alone, the same."""
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[:2, 1:] = True
    about = Objective("pay", np.ones((4, 4), dtype=np.int64))
    problem = Assignment(
        name="none", rows=4, columns=4, objectives=(about,), forbidden=forbidden, proven=True
    )
    with pytest.raises(AgreementError, match="every plan has a forbidden pair"):
        agreed(problem=problem)


def test_costs_that_words_do_not_hold_are_refused() -> None:
    about = Objective("pay", np.ones((4, 4), dtype=np.int64), weight_bound=1 << 45)
    problem = Assignment(name="huge", rows=4, columns=4, objectives=(about,))
    with pytest.raises(AgreementError, match="do not fit words of 64 bits"):
        agreed(problem=problem, weightings=[(1 << 20,)])


def test_what_does_not_fit_a_message_is_refused_without_making_it() -> None:
    """Anybody may send a node an agreement, so checking one must cost little."""
    agreement = agreed()
    rows = 4000
    owners = [Ownership(agreement.participants[0].name, [*range(rows)])]
    huge = replace(
        agreement,
        objectives=[replace(agreement.objectives[0], owners=owners)],
        problem=replace(agreement.problem, rows=rows, columns=rows),
        participants=agreement.participants[:1],
    )
    tracemalloc.start()
    try:
        with pytest.raises(AgreementError, match="more than a message"):
            check_sealed(huge)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5_000_000
