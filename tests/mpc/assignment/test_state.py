"""First plans, and states between sessions: kept and read again, handed over, over links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.mpc import COORDINATOR, Context, agree_epoch, open_session
from tacit.mpc.assignment import (
    AssignmentShape,
    AssignmentState,
    iterations,
    kept_sizes,
    minima,
    proof,
    read_state,
)
from tacit.mpc.assignment import descent as block_descent
from tacit.mpc.assignment import state as first_plan
from tacit.mpc.cost import Cost
from tacit.mpc.epoch import greeting_cost
from tacit.mpc.letters import Letter
from tacit.mpc.local import run_linked, run_parties
from tacit.mpc.protocols.loss import hand_over, left_without, share_without
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, deal, reconstruct
from tacit.mpc.transport import Mux
from tests.mpc.assignment.problems import Asked, check_state
from tests.mpc.both import check_cost, three_and_four


@three_and_four
def test_a_drawn_plan_is_any_plan_at_the_declared_cost(nodes: int) -> None:
    shape, seen = AssignmentShape(3, 9, weightings=2), Counter[tuple[int, ...]]()
    for _ in range(60):
        run = run_parties(lambda s: first_plan.drawn_matching(s, shape, label="drawn"), nodes=nodes)
        bits, numbers = (reconstruct([each[k] for each in run.results]) for k in (0, 1))
        assert np.array_equal(bits, numbers)
        assert (numbers.sum(axis=1) == 1).all()
        assert (numbers.sum(axis=2) == 1).all()
        seen[tuple(numbers[0].argmax(axis=1)), tuple(numbers[1].argmax(axis=1))] += 1  # type: ignore[index]
        check_cost(run, first_plan.cost_of_drawing(nodes, shape))
    for which in (0, 1):
        counts = Counter(plans[which] for plans in seen.elements())
        drawn = [counts[order] for order in permutations(range(3))]  # type: ignore[index]
        assert chisquare(drawn).pvalue > 1e-6
    # Each weighting has an order of its own.
    assert any(plans[0] != plans[1] for plans in seen)


@three_and_four
def test_a_public_plan_takes_no_message(nodes: int) -> None:
    shape = AssignmentShape(3, 9, weightings=2)
    places = [[2, 0, 1], [0, 2, 1]]

    async def node(s):  # type: ignore[no-untyped-def]
        return first_plan.public_matching(s, places, shape)

    run = run_parties(node, nodes=nodes)
    for each in (0, 1):
        matched = reconstruct([made[each] for made in run.results])
        assert matched.argmax(axis=1).tolist() == places
        assert (matched.sum(axis=1) == 1).all()
    check_cost(run, Cost.free(nodes))


FIRST = (2, 0, 3, 1, 5, 4)


def asked(lag: int) -> Asked:
    costs = np.random.default_rng(1).integers(0, 30, (2, 6, 6))
    return Asked.square(costs, start=FIRST, lag=lag, generations=1, gap=2)


def held_after(problem: Asked, batches: Sequence[int], *, nodes: int = 3) -> list[AssignmentState]:
    return problem.on_shares(batches, nodes=nodes).states(len(batches))


def advanced(
    problem: Asked, held: Sequence[AssignmentState], count: int, *, nodes: int = 3
) -> list[AssignmentState]:
    """Go on in a session of its own, with keys of its own."""
    costs = problem.dealt(nodes)
    return run_parties(
        lambda s: problem.advance(s, held[s.me], costs[s.me], count), nodes=nodes
    ).results


@three_and_four
@pytest.mark.parametrize("lag", [0, 1])
def test_a_state_that_was_kept_goes_on_to_the_same_bits(lag: int, nodes: int) -> None:
    problem = asked(lag)
    held = held_after(problem, [3], nodes=nodes)
    for batch in (2, 1, 3):
        before = [read_state(each.kept, step=each.step) for each in held]
        for _ in range(2):  # the second time as after a crash, with fresh shuffles
            held = advanced(problem, before, batch, nodes=nodes)
    for weighting in (0, 1):
        check_state(held, weighting, problem.clear(weighting, FIRST, [3, 2, 1, 3])[-1])


@pytest.mark.parametrize("lag", [0, 1])
def test_a_state_is_what_its_sums_say(lag: int) -> None:
    """A node that was away gets components of which the sums alone are those of before."""
    problem = asked(lag)
    held = held_after(problem, [3])
    sums = [reconstruct([each.kept[k] for each in held]) for k in range(3)]
    dealt = [deal(each) for each in sums]
    again = [read_state([share[me] for share in dealt], step=3) for me in range(3)]
    ended = advanced(problem, again, 5)
    for weighting in (0, 1):
        check_state(ended, weighting, problem.clear(weighting, FIRST, [3, 5])[-1])


@pytest.mark.parametrize("lost", range(4))
def test_a_state_is_handed_over_to_the_node_that_is_back(lost: int) -> None:
    problem = asked(1)
    held = held_after(problem, [3], nodes=4)
    assert [(share.shape, share.dtype) for share in held[0].kept] == kept_sizes(problem.shape)
    left = left_without(4, lost)

    async def node(s: Session) -> list[ArithmeticShare]:
        kept = held[s.me].kept if s.me in left else []
        mine = [share_without(each, me=s.me, lost=lost) for each in kept]
        return await hand_over(s, mine, kept_sizes(problem.shape), lost=lost, label="return")

    back = run_parties(node, nodes=4).results
    ended = advanced(problem, [read_state(each, step=3) for each in back], 5, nodes=4)
    for weighting in (0, 1):
        check_state(ended, weighting, problem.clear(weighting, FIRST, [3, 5])[-1])


def measured(nodes: int, work: Callable[[Session], Awaitable[object]]) -> tuple[int, list[int]]:
    """Rounds, and the bytes of each node, in a session with keys and greetings."""

    async def party(me: int, muxes: dict[int, Mux]) -> tuple[int, int]:
        if me == COORDINATOR:
            return 0, 0
        peers = {k: m for k, m in muxes.items() if k != COORDINATOR}
        epoch = await agree_epoch(me, peers)
        context = Context(b"agreement", 0, 1, 0, b"request")
        async with open_session(context, me=me, muxes=peers, epoch=epoch, timeout=60.0) as s:
            await work(s)
            return s.depth, s.sent

    results = run_linked(party, nodes=nodes)[:nodes]
    return max(depth for depth, _ in results), [sent for _, sent in results]


@three_and_four
@pytest.mark.parametrize("step", ["start", "descent", "iterations", "beside", "end"])
def test_a_session_of_its_own_costs_what_is_declared(step: str, nodes: int) -> None:
    problem = asked(int(step == "beside"))
    shape, costs = problem.shape, problem.dealt(nodes)
    batches = [] if step == "descent" else [1]
    held = held_after(problem, batches, nodes=nodes)

    async def work(s: Session) -> object:
        if step == "start":
            return await problem.begin(s, costs[s.me])
        if step == "end":
            state = replace(held[s.me], step=9)
            return await problem.finish(s, state, costs[s.me])
        return await problem.advance(s, held[s.me], costs[s.me], 1 if step == "descent" else 3)

    def of_iterations(lag: int) -> Cost:
        return iterations.cost_of_iterations(nodes, shape, count=3, lag=lag)

    paid = minima.letters_of_paid(nodes, shape)
    first: list[Letter] = minima.first_letters(nodes, shape)
    declared: dict[str, tuple[Cost, list[Letter]]] = {
        "start": (iterations.cost_of_start(nodes, shape), first),
        "descent": (
            block_descent.cost_of_generations(
                nodes, shape, problem.descent.generation(1),
                bits=problem.descent.key_bits, count=1, levels=problem.descent.levels,
            ),
            block_descent.first_letters(nodes, problem.descent.generation(1), shape.word),
        ),
        "iterations": (of_iterations(0), paid),
        "beside": (of_iterations(1), paid),
        "end": (proof.cost_of_end(nodes, shape, steps=problem.ladder), paid),
    }  # fmt: skip
    cost, letters = declared[step]
    whole = greeting_cost(nodes, letters).then(cost)
    assert measured(nodes, work) == (whole.rounds, list(whole.sent))
