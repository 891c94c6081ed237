"""A node's shares of the best fitness so far, where `improvement` is disclosed.

The one bit that may be disclosed compares a population with all that came before it. So a state is
never brought back once a later one is kept, and none is left out: an evaluation that was begun here
or at a peer counts as told, whether its answer got out or the node was killed before, and nothing
follows it until it has left its state.

The evaluations of one agreement at a node: which numbers are used, and what was sent.

A number is used on the disk before anything is computed under it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tacit.errors import EngineError
from tacit.mpc import ArithmeticShare
from tacit.node.inputs import Inputs
from tacit.node.policy import (
    Asked,
    check_disclosure,
    check_due,
    check_evaluated,
    check_not_revealed,
    check_number,
    check_population,
    check_repeat,
    check_reveal,
    refuse,
)
from tacit.node.store import LEASE, Store, StoredBest
from tacit.records.events import (
    EvaluationBegun,
    EvaluationRepeated,
    LogEvent,
    NumberAdopted,
    RevealBegun,
)
from tacit.records.requests import NO_ATTEMPT, Attempt, candidate_hashes

KEPT_STATES = 2
"""The last evaluation and the one before, in case the last has to be done again."""


class BestSoFar:
    """The states of one objective, those with the highest numbers."""

    def __init__(self, store: Store, objective: int, /) -> None:
        self._store, self._objective = store, objective
        self._states = store.load_best(objective)
        self.from_peers: list[Attempt] = []
        """The attempts of which our peers, and not we, have shares: they hand them over."""
        self.computing = asyncio.Lock()
        """Held from the choice of the state before until the state after is kept."""

    @property
    def newest(self) -> Attempt:
        """The attempt that the newest shares come from, empty before the first."""
        # Of one number, what the peers went on from counts.
        return max(self.available, key=lambda attempt: attempt.number, default=NO_ATTEMPT)

    @property
    def kept(self) -> list[Attempt]:
        """The attempts that the shares here come from."""
        return [state.attempt for state in self._states]

    @property
    def available(self) -> list[Attempt]:
        """The attempts that shares are here of, or would be handed over."""
        return [*self.from_peers, *self.kept]

    def before(self, number: int, parent: Attempt, /, *, begun: int) -> ArithmeticShare | None:
        """Shares of the best fitness before an evaluation, if `parent` left the right ones.

        `begun` is the last evaluation that is known to have begun.

        The platform names the attempt that it saw complete at all nodes. A node that did not
        complete it refuses, and so does one that has newer shares. The states kept are those with
        the highest numbers, so if there is none before this number, there never was one. None is
        here either where the peers hand them over.
        """
        if any(state.number > number for state in self._states):
            raise refuse(f"a later best so far than that of evaluation {number} is kept; go on")
        handed = [parent] if parent in self.from_peers else []
        newest = max([0, *(state.number for state in self._states), *(a.number for a in handed)])
        if newest < begun < number:
            raise refuse(
                f"evaluation {begun} was begun, and left no best so far here; evaluate that again"
            )
        if handed and parent.number == newest < number:
            return None
        earlier = [state for state in self._states if state.number < number]
        latest = max(earlier, key=lambda state: state.number, default=None)
        if (latest.attempt if latest is not None else NO_ATTEMPT) != parent:
            raise refuse(
                f"the best so far is not here as attempt '{parent}' left it; evaluate that again"
            )
        if latest is None:
            return None
        return ArithmeticShare(
            {c: np.array([part], dtype=np.uint64) for c, part in latest.components.items()}
        )

    @property
    def of_three(self) -> list[Attempt]:
        """The attempts of which three nodes of four have the shares."""
        full = len(self._store.agreement.nodes) - 1
        return [state.attempt for state in self._states if len(state.components) < full]

    def forget(self) -> None:
        """The agreement has ended."""
        self._states = []

    def keep(self, number: int, attempt: Attempt, best: ArithmeticShare, /) -> None:
        """Keep the shares of the best fitness for the next evaluation, on the disk."""
        new = StoredBest(number, attempt, {c: int(part[0]) for c, part in best.parts.items()})
        states = [state for state in self._states if state.number != number]
        states = sorted([*states, new], key=lambda state: state.number)[-KEPT_STATES:]
        self._store.save_best(self._objective, states)
        self._states = states


LAST_NUMBERS = 16
"""So many of its last numbers a node tells its peers when an epoch begins."""


@dataclass(slots=True)
class Counter:
    """The numbers used for one objective, with the hashes of the last requests."""

    highest: int = 0
    used: dict[int, bytes | None] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a request is looked at, so that they begin in the order in which they came."""

    def use(self, number: int, request: bytes) -> None:
        """A number is used; of those long ago it does not matter any more for what."""
        self.highest = max(self.highest, number)
        self.used[number] = request
        for old in [n for n in self.used if n <= self.highest - LAST_NUMBERS]:
            del self.used[old]

    @property
    def latest(self) -> int:
        """The last number that a request is known of; later ones can never be computed."""
        return max((number for number, request in self.used.items() if request), default=0)

    def last(self) -> list[tuple[int, bytes]]:
        """The last used numbers, with their hashes."""
        first = max(1, self.highest - LAST_NUMBERS + 1)
        return [(n, self.used.get(n) or b"") for n in range(first, self.highest + 1)]


class Counters:
    """The evaluations of all confidential objectives."""

    def __init__(self, store: Store, inputs: Inputs) -> None:
        self._store, self._agreement, self._inputs = store, store.agreement, inputs
        objectives = self._agreement.confidential()
        self.by_objective = {k: Counter() for k in objectives}
        self.bests = {
            k: BestSoFar(store, k) for k in objectives if self._agreement.objectives[k].keeps_best
        }
        self._revealed: dict[int, bytes] = {}
        self._chosen = self._agreement.search.populations == "chosen"
        self._last_evaluated: dict[int, set[bytes]] = {k: set() for k in objectives}

    def replay(self, event: LogEvent) -> None:
        """Remember what a line of the log says."""
        match event:
            case EvaluationBegun(objective=k, number=n) | NumberAdopted(objective=k, number=n):
                self.by_objective[k].use(n, bytes.fromhex(event.request))
            case RevealBegun(objective=k):
                self._revealed[k] = bytes.fromhex(event.request)

    def best_before(self, objective: int, number: int, parent: Attempt) -> ArithmeticShare | None:
        """Shares of the best fitness before an evaluation, where they are kept."""
        best = self.bests.get(objective)
        if best is not None:
            return best.before(number, parent, begun=self.by_objective[objective].latest)
        if parent:
            raise refuse("there is no best so far to build on here; leave the parent attempt empty")
        return None

    def use_up_lost(self) -> None:
        """The machine restarted: whatever its leases cover may have been used."""
        for objective, number in self._store.lease.lost.items():
            if number > self.by_objective[objective].highest:
                self._store.log.append(NumberAdopted(objective, number, ""))
                self._store.log.sync()
                self.by_objective[objective].highest = number

    def begin(
        self,
        asked: Asked,
        *,
        attempt: Attempt = NO_ATTEMPT,
        parent_attempt: Attempt = NO_ATTEMPT,
        check_goes_on: Callable[[], None] = lambda: None,
    ) -> None:
        """Allow an evaluation or refuse it; when this returns, its number is used on disk.

        `check_goes_on` refuses what is new in a run that has ended.

        Every computation leaves a line in the log, a repeat as well: which attempt it is, and on
        which best so far it builds.
        """
        objective, number = asked.objective, asked.number
        self._inputs.check_frozen(objective)
        counter = self.by_objective[objective]
        check_disclosure(self._agreement, asked)
        if self._chosen:
            check_population(self._agreement, asked)
        most = self._agreement.limits.evaluations
        if check_number(number, asked.request, counter.used, counter.highest, most):
            check_not_revealed(objective in self._revealed)
            check_goes_on()
            check_due(asked)
            request = asked.request.hex()
            self._use(EvaluationBegun(objective, number, request, attempt, parent_attempt))
            if objective in self.bests:
                # Not even a power cut may leave it out: the next must not be built without it.
                self._store.log.sync()
            return
        if objective in self.bests:
            check_repeat(number, counter.latest)
        self._store.log.append(EvaluationRepeated(objective, number, attempt, parent_attempt))

    def _use(self, event: EvaluationBegun | NumberAdopted) -> None:
        if self._store.lease.left(event.objective, event.number) < 0:
            self._store.lease.extend(event.objective, event.number)
        self._store.log.append(event)
        self.replay(event)

    def adopt(self, theirs: dict[int, list[tuple[int, bytes]]]) -> None:
        """Take over numbers that a peer has used and we have not seen: the highest counts."""
        for objective, numbers in theirs.items():
            counter = self.by_objective.get(objective)
            if counter is None:
                raise EngineError(f"a peer counts objective {objective}, which does not exist")
            for number, request in numbers:
                if number > counter.highest:
                    self._use(NumberAdopted(objective, number, request.hex()))

    async def finish(self, asked: Asked) -> None:
        """What can wait until the answer is out: remember the candidates, extend the lease."""
        if self._agreement.final_reveal is not None and self._chosen:
            # Most of a population was in the one before; more than that need not be remembered.
            now = candidate_hashes(asked.plans)
            self._store.add_evaluated(asked.objective, now - self._last_evaluated[asked.objective])
            self._last_evaluated[asked.objective] = now
        if 0 <= self._store.lease.left(asked.objective, asked.number) < LEASE // 4:
            await asyncio.to_thread(self._store.lease.extend, asked.objective, asked.number)

    def check_reveal(self, asked: Asked) -> None:
        """Refuse a final reveal that is not allowed; reads what was evaluated from the disk."""
        self._inputs.check_frozen(asked.objective)
        earlier = self._revealed.get(asked.objective)
        check_reveal(self._agreement, asked.plans, earlier, asked.request)
        if self._chosen:
            check_evaluated(asked.plans, partial(self._store.were_evaluated, asked.objective))

    def begin_reveal(
        self,
        asked: Asked,
        *,
        attempt: Attempt = NO_ATTEMPT,
        check_goes_on: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin the one final reveal, which is allowed; when this returns, it is used on disk."""
        objective = asked.objective
        if objective not in self._revealed:
            check_goes_on()
            event = RevealBegun(objective, asked.request.hex(), attempt)
            self._store.log.append(event)
            self._store.log.sync()
            self.replay(event)
        else:
            self._store.log.append(EvaluationRepeated(objective, asked.number, attempt))
