"""The node's rules by themselves: distinct candidates, the end of an agreement, and sizes."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement.draft import check_agreement, draft_agreement
from tacit.agreement.sizes import working_bytes
from tacit.agreement.terms import Agreement, Ownership, PublicProblem
from tacit.disclosure import parse_disclosure
from tacit.errors import AgreementError, RefusedError
from tacit.node import policy
from tacit.node.agreement_state import AgreementState
from tacit.node.policy import (
    Asked,
    check_epoch,
    check_feasible,
    check_generations,
    check_not_revealed,
    check_number,
    check_population,
    check_repeat,
    count_distinct,
)
from tacit.node.store import Store
from tacit.problems import Objective, Tour
from tacit.records.events import RevealBegun
from tests.on_nodes.fixtures import example_cast

CITIES = 12


def tour_agreement(weights: np.ndarray | None) -> Agreement:
    objective = Objective(
        "length",
        weights,
        sense="minimize",
        disclosure=parse_disclosure("top:1"),
        weight_bound=200,
    )
    problem = Tour(name="t", rows=CITIES, columns=CITIES, objectives=(objective,))
    old = example_cast().agreement
    return draft_agreement(
        problem,
        participants={each.name: each.signing_key for each in old.participants},
        nodes=old.nodes,
        platform=old.platform,
        nonce=old.nonce,
        search=old.search,
        limits=old.limits,
    )


def matrix(*, symmetric: bool) -> np.ndarray:
    weights = np.random.default_rng(1).integers(0, 100, (CITIES, CITIES))
    return weights + weights.T if symmetric else weights


def ask(agreement: Agreement, plans: np.ndarray) -> None:
    check_population(agreement, Asked(0, 1, "top:1", "value", b"", plans.astype(np.uint8)))


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_tour_counts_once_wherever_it_begins(symmetric: bool) -> None:
    agreement = tour_agreement(matrix(symmetric=symmetric))
    assert agreement.problem.symmetric is symmetric
    tour = np.random.default_rng(2).permutation(CITIES)
    rotations = np.array([np.roll(tour, k) for k in range(CITIES)])
    with pytest.raises(RefusedError, match="only 1 of 12 candidates differ"):
        ask(agreement, rotations)
    both = np.concatenate([rotations, rotations[:, ::-1]])
    if symmetric:
        with pytest.raises(RefusedError, match="only 1 of 24 candidates differ"):
            ask(agreement, both)
    else:
        ask(agreement, both)


def test_weights_that_are_not_here_count_as_symmetric() -> None:
    assert tour_agreement(None).problem.symmetric


def test_only_a_tour_is_symmetric() -> None:
    agreement = example_cast().agreement
    problem = replace(agreement.problem, symmetric=True)
    with pytest.raises(AgreementError, match="only ways between places"):
        check_agreement(replace(agreement, problem=problem))


def test_distinct_tours_stay_distinct() -> None:
    rng = np.random.default_rng(3)
    tours = np.array([[0, *(1 + rng.permutation(7))] for _ in range(200)])
    shown = {min(tuple(t[1:]), tuple(t[:0:-1])) for t in tours.tolist()}
    turned = np.array([np.roll(tour, k)[:: (-1) ** k] for k, tour in enumerate(tours)])
    km = Objective("km", None, weight_bound=9)
    tour = Tour(name="p", rows=8, columns=8, objectives=(km,), symmetric=True)
    assert count_distinct(tour, turned) == len(shown)


def test_nothing_new_is_evaluated_after_the_reveal(tmp_path: Path) -> None:
    cast = example_cast()

    def agreement_state() -> AgreementState:
        store = Store.create(tmp_path, cast.agreement, cast.signatures)
        made = AgreementState(store, node=0, key=cast.sealing[0])
        made.inputs.seed_contributions[0] = "00"
        return made

    plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    first, second = (Asked(0, n, "top:1", "value", bytes([n]) * 32, plans) for n in (1, 2))
    held = agreement_state()
    held.counters.begin(first)
    revealed = RevealBegun(0, b"request".hex())
    held.store.log.append(revealed)
    held.counters.replay(revealed)
    for again in (held, agreement_state()):
        with pytest.raises(RefusedError, match="which was the end"):
            again.counters.begin(second)
        again.counters.begin(first)  # what was told may be told again


def sized(*, rows: int, population_max: int, disclosure: str = "top:1", columns: int = 0) -> None:
    agreement = example_cast().agreement
    owners = [Ownership("owner", list(range(rows)))]
    terms = replace(agreement.objectives[0], disclosure=disclosure, owners=owners)
    check_agreement(
        replace(
            agreement,
            problem=PublicProblem("p", "assignment", rows, columns or rows),
            objectives=[terms],
            limits=replace(agreement.limits, population_min=1000, population_max=population_max),
        )
    )


def test_what_does_not_fit_a_frame_is_not_agreed() -> None:
    sized(rows=100, population_max=5000)
    sized(rows=100, population_max=5000, disclosure="buckets:100")
    with pytest.raises(AgreementError, match="a population would take"):
        sized(rows=1000, population_max=100_000)
    with pytest.raises(AgreementError, match="the box of 'owner' would take"):
        sized(rows=500, population_max=1000, columns=10_000)
    with pytest.raises(AgreementError, match="an evaluation of 'pay' would take"):
        sized(rows=100, population_max=100_000, disclosure="buckets:900")
    with pytest.raises(AgreementError, match="nodes take 1048576"):
        sized(rows=2, population_max=1 << 21)


def test_a_number_counts_once_and_for_one_request() -> None:
    assert check_number(3, b"c", {1: b"a", 2: b"b"}, 2, 10)
    assert not check_number(2, b"b", {2: b"b"}, 2, 10)
    for number, request, most, why in (
        (2, b"x", 10, "number 2 was used for another request; use 3"),
        (4, b"x", 10, "would leave a gap; the next one is 3"),
        (3, b"x", 2, "allows 2 evaluations, this would be number 3"),
        (0, b"x", 10, "counted from 1"),
    ):
        with pytest.raises(RefusedError, match=why):
            check_number(number, request, {2: b"b"}, 2, most)


def test_what_has_ended_or_was_used_does_not_come_again() -> None:
    check_repeat(7, 7)
    with pytest.raises(RefusedError, match="only the last evaluation, 7, is repeated"):
        check_repeat(3, 7)
    check_epoch(5, 4)
    with pytest.raises(RefusedError, match="numbers of epochs only grow"):
        check_epoch(4, 4)
    check_not_revealed(False)
    with pytest.raises(RefusedError, match="nothing new is evaluated"):
        check_not_revealed(True)


def test_generations_follow_each_other_up_to_the_agreed_number() -> None:
    check_generations(40, 20, 100, most=100, ends={0: 40})
    check_generations(0, 40, 100, most=100, ends={0: 40})
    with pytest.raises(RefusedError, match="allows 100 steps, these would be up to 120"):
        check_generations(40, 80, 100, most=100, ends={0: 40})
    with pytest.raises(RefusedError, match="20 to 40 do not follow those done before"):
        check_generations(20, 20, 100, most=100, ends={0: 40})


def test_nothing_is_told_before_all_objectives_are_frozen(tmp_path: Path) -> None:
    """The seed follows from all inputs, and no answer comes before it is fixed."""
    cast = example_cast()
    first = cast.agreement.objectives[0]
    two = replace(cast.agreement, objectives=[first, replace(first, name="more")])
    store = Store.create(tmp_path, two, cast.signatures)
    held = AgreementState(store, node=0, key=cast.sealing[0])
    plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    asked = Asked(0, 1, "top:1", "value", bytes(32), plans)
    held.inputs.seed_contributions[0] = "00"
    with pytest.raises(RefusedError, match="inputs of objective 1 are not prepared yet"):
        held.counters.begin(asked)
    held.inputs.seed_contributions[1] = "00"
    held.counters.begin(asked)


def test_looking_at_a_population_takes_little_memory() -> None:
    """Blocks find the same fault, count the same plans, and do not take many times the plans."""
    km = Objective("km", None, weight_bound=9)
    tour = Tour(name="p", rows=100, columns=100, objectives=(km,), symmetric=True)
    one = np.arange(100, dtype=np.uint8)
    plans = np.concatenate([np.tile(one, (30_000, 1)), [one[::-1], np.roll(one, 3)]])
    assert len(plans) * 100 > 10 * policy.BLOCK_ENTRIES
    tracemalloc.start()
    try:
        check_feasible(tour, plans)
        assert count_distinct(tour, plans) == 1
        assert tracemalloc.get_traced_memory()[1] < 5 * len(plans) * 100
    finally:
        tracemalloc.stop()
    plans[29_999, 0] = 1
    with pytest.raises(RefusedError, match="candidate 29999 takes a column twice"):
        check_feasible(tour, plans)


def forbidding(pairs: list[tuple[int, int]]) -> None:
    agreement = example_cast().agreement
    check_agreement(replace(agreement, problem=replace(agreement.problem, forbidden=pairs)))


def test_a_pair_is_forbidden_once() -> None:
    forbidding([(0, 0)])
    for pairs, reason in (
        ([(0, 0), (0, 0)], "stands twice"),
        ([(0, 0)] * 5, "more pairs are forbidden than there are"),
        ([(0, 2)], "lies outside"),
        ([(0, 1 << 70)], "lies outside"),
    ):
        with pytest.raises(AgreementError, match=reason):
            forbidding(pairs)


def test_the_answers_to_a_range_check_are_part_of_what_an_agreement_needs() -> None:
    """A thousand owners, one of them of most rows: the answers lie in a grid of both."""
    agreement = example_cast().agreement
    owners = [Ownership("most", list(range(999, 2000)))]
    owners += [Ownership(f"{row}", [row]) for row in range(999)]
    terms = replace(agreement.objectives[0], owners=owners)
    problem = PublicProblem("p", "assignment", 2000, 2000)
    lopsided = replace(agreement, problem=problem, objectives=[terms])
    assert working_bytes(agreement) < 1_000_000
    assert working_bytes(lopsided) > 2 * 1001 * 2000 * 1000 // 4
    four = replace(lopsided, nodes=[*agreement.nodes, agreement.nodes[0]])
    assert working_bytes(four) > 1.4 * working_bytes(lopsided)  # they hold more, and send more


BOTH = np.array([[0, 1], [1, 0]], dtype=np.uint8)


def test_what_is_evaluated_is_as_agreed() -> None:
    agreement = example_cast().agreement  # 2 to 100 candidates, two of them distinct

    def asked(plans: Any = BOTH, disclosure: str = "top:1", best: str = "value") -> Asked:
        return Asked(0, 1, disclosure, best, b"request", np.asarray(plans))

    policy.check_disclosure(agreement, asked())
    policy.check_population(agreement, asked())
    for wrong in (asked(best="improvement"), asked(disclosure="none")):
        with pytest.raises(RefusedError, match="may disclose"):
            policy.check_disclosure(agreement, wrong)
    for plans, words in (
        ([[0, 1]], "a population of 1"),
        (np.tile(BOTH, (51, 1)), "a population of 102"),
        ([[0, 1], [0, 1]], "only 1 of 2 candidates differ"),
        ([[0, 1], [1, 1]], "candidate 1"),
    ):
        with pytest.raises(RefusedError, match=words):
            policy.check_population(agreement, asked(plans))
    policy.check_due(asked())
    with pytest.raises(RefusedError, match="was answered before"):
        policy.check_due(dataclasses.replace(asked(), due=False))


def test_what_is_revealed_was_agreed_and_evaluated_and_is_revealed_once() -> None:
    agreement = example_cast().agreement
    policy.check_reveal(agreement, BOTH, None, b"request")
    policy.check_reveal(agreement, BOTH, b"request", b"request")
    for agreed, plans, earlier, words in (
        (replace(agreement, reveal_best=False), BOTH, None, "does not allow"),
        (agreement, BOTH, b"other", "which happens once"),
        (agreement, BOTH[:0], None, "0 candidates"),
        (agreement, np.tile(BOTH, (51, 1)), None, "102 candidates"),
        (agreement, BOTH * 0, None, "candidate 0"),
    ):
        with pytest.raises(RefusedError, match=words):
            policy.check_reveal(agreed, plans, earlier, b"request")
    policy.check_evaluated(BOTH, lambda hashes: len(hashes) == 2)
    with pytest.raises(RefusedError, match="never evaluated"):
        policy.check_evaluated(BOTH, lambda _: False)


def test_steps_end_at_checkpoints_and_where_all_is_proved() -> None:
    def check(first: int, count: int, finished: int | None = None) -> None:
        policy.check_checkpoints(first, count, checkpoints=(4, 8), finished=finished)

    for first, count, finished in ((0, 4, None), (4, 4, None), (0, 4, 4), (8, 9, None)):
        check(first, count, finished)
    for first, count, finished in ((0, 5, None), (3, 2, None), (4, 1, 4), (5, 1, 4), (0, 9, None)):
        with pytest.raises(RefusedError):
            check(first, count, finished)
