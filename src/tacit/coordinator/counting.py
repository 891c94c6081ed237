"""Having a run counted for the balances of its series: by all nodes, once, however often asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tacit.coordinator.coordinator import Coordinator
from tacit.errors import AbortError
from tacit.mpc import Session
from tacit.wire.attempt import NO_ATTEMPT, Attempt
from tacit.wire.messages import CountRun
from tacit.wire.request import count_hash


@dataclass(frozen=True, slots=True)
class Counted:
    """That a run counts."""

    head: str
    """Of the chain of counted runs, with this one."""
    rounds: int


async def count_run(
    coordinator: Coordinator,
    /,
    *,
    search: int = 0,
    state: Attempt = NO_ATTEMPT,
    plan: bytes = b"",
    before: Callable[[int], Awaitable[None]] | None = None,
    until: float | None,
) -> Counted:
    """Have all nodes count the plan of a state, or this one; `before` readies them in an epoch."""

    async def nothing(session: Session) -> None:
        """The coordinator takes no part in it."""

    async def once() -> Counted:
        epoch = await coordinator.epoch(everybody=True)
        if before is not None:
            await before(epoch)
        request = CountRun(
            agreement=coordinator.hash,
            search=search,
            state=state,
            plan=plan,
            epoch=epoch,
            attempt=coordinator.new_attempt(),
        )
        done = await coordinator.replies(
            await coordinator.attempt(request, count_hash(request), nothing)
        )
        heads = {each.head for each in done}
        if len(heads) > 1:
            raise AbortError("the nodes", "have counted different runs")
        return Counted(heads.pop(), max(each.rounds for each in done))

    return await coordinator.persist(once, until=until)
