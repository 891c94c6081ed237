"""Of four nodes that solve an assignment one computes with something else than it holds.

No honest node ends with a part of another plan, and whoever notices names the one at fault.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import MismatchError, PeerError
from tacit.mpc.assignment import tell_finished
from tacit.mpc.local import parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, party_name
from tests.mpc.assignment.problems import Asked, signed
from tests.mpc.waiting_clock import run_without_waiting

NODES = range(4)
COSTS = np.array([[4, 1, 7], [2, 0, 5], [3, 9, 8]])
STEPS = 3
RNG = np.random.default_rng(12)


def asked(lag: int) -> Asked:
    return Asked.square(COSTS, start=(0, 1, 2), lag=lag, generations=1, gap=3)


@dataclass
class Falsified:
    """Which node alters a component of the costs, or what a round brings."""

    node: int
    component: int | None = None
    exchange: int = -1
    _count: Iterator[int] = field(default_factory=itertools.count)
    rounds: int = 0

    def costs(self, me: int, share: ArithmeticShare) -> ArithmeticShare:
        if me != self.node or self.component is None:
            return share
        part = share.parts[self.component].copy()
        part.reshape(-1)[int(RNG.integers(part.size))] += part.dtype.type(1 << int(RNG.integers(4)))
        return ArithmeticShare({**share.parts, self.component: part})

    def disturb(self, session: Session) -> None:
        """Alter one byte of each array that a round brings, after it was checked."""
        exchange, substreams = session.exchange, session.substreams

        async def altered(letters: Any, contents: Any) -> dict[int, NDArray[Any]]:
            arrived = await exchange(letters, contents)
            self.rounds = next(self._count)
            if self.rounds == self.exchange:
                arrived = {number: array.copy() for number, array in arrived.items()}
                for array in arrived.values():
                    array.reshape(-1).view(np.uint8)[int(RNG.integers(array.nbytes))] ^= 1
            return arrived

        def disturbed(count: int) -> list[Session]:
            made = substreams(count)
            for each in made:
                self.disturb(each)
            return made

        session.exchange = altered  # type: ignore[method-assign]
        session.substreams = disturbed  # type: ignore[method-assign]


def outcomes(problem: Asked, falsified: Falsified) -> list[Any]:
    """What each node ends with: its share of the plans and the opened bit, or an error."""
    dealt = problem.dealt(4)

    async def node(s: Session) -> Any:
        if s.me == falsified.node:
            falsified.disturb(s)
        costs = falsified.costs(s.me, dealt[s.me])
        try:
            state = await problem.begin(s, costs)
            state = await problem.advance(s, state, costs, STEPS)
            answer = await problem.finish(s, state, costs)
            assert answer.proved is not None
            return answer.plans, await tell_finished(s, answer.proved)
        except PeerError as error:
            return error

    return run_without_waiting(parties(node, nodes=4, timeout=1)).results


def check(problem: Asked, falsified: Falsified, expected: list[int]) -> bool:
    """No honest node has a part of something else; return whether one noticed."""
    results = outcomes(problem, falsified)
    honest = {me: results[me] for me in NODES if me != falsified.node}
    noticed = [error for error in honest.values() if isinstance(error, MismatchError)]
    for error in noticed:
        assert party_name(falsified.node) in (error.peer, error.voucher)
    ended = {me: made for me, made in honest.items() if not isinstance(made, PeerError)}
    parts: dict[int, NDArray[Any]] = {}
    for plans, is_proved in ended.values():
        assert is_proved == bool(expected[1])
        for component, part in plans.parts.items():
            assert np.array_equal(parts.setdefault(component, part), part)
    if len(ended) == 3:
        whole = sum(parts.values(), np.zeros_like(parts[0]))
        assert signed(whole)[0].tolist() == expected
    else:
        assert noticed or isinstance(results[falsified.node], PeerError)
    return bool(noticed)


def right(problem: Asked) -> list[int]:
    """The line of the plan without anybody at fault."""
    line: list[int] = problem.on_shares([STEPS], nodes=4).lines()[0].tolist()
    return line


@pytest.mark.parametrize("node", NODES)
def test_a_falsified_component_never_leads_to_another_plan(node: int) -> None:
    problem = asked(0)
    expected = right(problem)
    noticed = [
        check(problem, Falsified(node, component), expected)
        for component in NODES
        if component != node
        for _ in range(2)
    ]
    assert all(noticed)


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("node", NODES)
def test_what_a_node_falsifies_on_the_way_never_leads_to_another_plan(node: int, lag: int) -> None:
    """Every sixth round of each, others at each node."""
    problem = asked(lag)
    expected, rounds = right(problem), Falsified(node)
    assert not check(problem, rounds, expected)
    noticed = [
        check(problem, Falsified(node, exchange=k), expected)
        for k in range(node, rounds.rounds + 1, 6)
    ]
    # Most bits of words that are hardly filled mean nothing.
    assert sum(noticed) > len(noticed) / 5
