"""One evaluation after the other: what comes again, under which number, and what it builds on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.coordinator.coordinator import Answered, Coordinator
from tacit.coordinator.evaluations import Evaluated, Evaluations
from tacit.errors import AbortError, MpcError, PeerLostError
from tacit.records.ledger import DisclosedLabels
from tacit.records.messages import Computed, Evaluate
from tacit.records.requests import Attempt
from tests.on_nodes.fixtures import example_cast

AGREEMENT = example_cast().agreement
PLANS = [np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, 1]])]


class Script(Coordinator):
    """A coordinator of nodes that answer, fail or forget a line, as the test says."""

    def __init__(self, *, best: str = "nothing") -> None:
        objectives = [replace(AGREEMENT.objectives[0], best=best)]
        super().__init__(replace(AGREEMENT, objectives=objectives), [])
        self.asked: list[Evaluate] = []
        self.fails: list[bool] = []
        """Per attempt, whether it comes to nothing."""
        self.lacks_line: set[int] = set()
        """Attempts, counted from 1, that a node has not logged."""
        self.used_by_nodes = 0

    async def epoch(self, *, everybody: bool = False) -> int:
        self.numbers[0] = max(self.numbers[0], self.used_by_nodes)
        return 1 + everybody

    async def persist(self, once: Callable[[], Awaitable[Any]], /, *, until: float | None) -> Any:
        while True:
            try:
                return await once()
            except MpcError:
                if until is not None:
                    raise

    async def attempt(self, asked: Any, digest: bytes, _receive: Any, /) -> Any:
        self.asked.append(asked)
        self.used_by_nodes = asked.number
        if self.fails and self.fails.pop(0):
            raise AbortError("node 1", "is gone")
        replies: list[asyncio.Future[Computed]] = []
        for node in range(3):
            reply: asyncio.Future[Computed] = asyncio.get_running_loop().create_future()
            if node == 1 and len(self.asked) in self.lacks_line:
                reply.set_exception(PeerLostError("node 1", "is gone"))
            else:
                reply.set_result(Computed(id=1, sent=0, rounds=1))
            replies.append(reply)
        named = Attempt.of(asked.number, 1, asked.attempt)
        payload = DisclosedLabels([1, 0])
        return Answered(payload, digest, named, replies, [], 1, None, False)

    async def replies(self, answered: Any, /) -> Any:
        return list(await asyncio.gather(*answered.replies))

    def said(self) -> list[tuple[int, bytes]]:
        """Under which number which candidates were asked for."""
        return [(each.number, each.candidates) for each in self.asked]


def evaluations(script: Script, again: list[Evaluated] | None = None) -> Evaluations:
    return Evaluations(script, 0, answered_again=(again if again is not None else []).append)


def test_the_next_begins_once_all_nodes_have_logged_the_last() -> None:
    async def evaluate() -> None:
        script, again = Script(), list[Evaluated]()
        script.lacks_line = {1, 2}
        objective = evaluations(script, again)
        for plans in PLANS:
            await objective.evaluate(plans, until=None)
        first, *_, last = script.said()
        # The first comes again, and again, until its line is everywhere.
        assert script.said() == [first, first, first, last]
        assert (first[0], last[0]) == (1, 2)
        assert len(again) == 2

    asyncio.run(evaluate())


def test_a_population_keeps_its_number_though_nodes_have_used_it() -> None:
    async def evaluate() -> None:
        script = Script()
        # A node has used the number before the attempt fails, and says so in the next epoch.
        script.fails = [True]
        await evaluations(script).evaluate(PLANS[0], until=None)
        assert [number for number, _ in script.said()] == [1, 1]

    asyncio.run(evaluate())


def test_what_ran_out_of_time_is_brought_to_its_end_where_the_best_is_kept() -> None:
    async def evaluate() -> None:
        script = Script(best="improvement")
        objective = evaluations(script)
        script.fails = [True]
        with pytest.raises(AbortError):
            await objective.evaluate(PLANS[0], until=1.0)
        await objective.evaluate(PLANS[1], until=None)
        first, again, after = script.asked
        assert (first.number, again.number, after.number) == (1, 1, 2)
        assert first.candidates == again.candidates != after.candidates
        assert after.parent_attempt == Attempt.of(1, 1, again.attempt)

    asyncio.run(evaluate())


def test_a_node_that_never_says_that_it_is_done_is_not_asked_without_a_pause() -> None:
    """Such a liar made the platform fail: each repeat waited within the one before."""

    async def evaluate() -> None:
        script = Script()
        script.lacks_line = {*range(1, 2000)}
        objective = evaluations(script)
        await objective.evaluate(PLANS[0], until=None)
        with pytest.raises(MpcError):
            await objective.evaluate(PLANS[1], until=1.0)
        assert [number for number, _ in script.said()] == [1, 1, 1]
        script.lacks_line = set()
        await objective.evaluate(PLANS[1], until=None)

    asyncio.run(evaluate())


def test_the_best_so_far_of_one_of_four_nodes_steers_no_resumed_run() -> None:
    last, before, other = Attempt("2:1:1"), Attempt("1:1:1"), Attempt("2:9:9")

    def asked(*kept: list[Attempt]) -> list[tuple[int, Attempt]]:
        """Under which number evaluations were asked for then, and what each builds on."""

        async def resume() -> list[tuple[int, Attempt]]:
            script = Script(best="improvement")
            script.kept[0], script.used_by_nodes = [*kept], 2
            objective = evaluations(script)
            objective.go_on_after(2, PLANS[0])
            await objective.evaluate(PLANS[1], until=1.0)
            return [(each.number, each.parent_attempt) for each in script.asked]

        return asyncio.run(resume())

    both = [before, last]
    assert asked(both, both, both, both) == [(3, last)]
    # Whatever the liar names.
    for lie in ([other], [], [Attempt("1:9:9"), other]):
        assert asked(lie, both, both, both) == [(3, last)]
    # An honest node missed the last one, which is computed again after the one before.
    (again, (number, _)) = asked(both, both, both, [before])
    assert (again, number) == ((2, before), 3)
