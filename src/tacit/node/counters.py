"""Count the evaluations of one agreement, and keep its best fitness so far.

A number is used on the disk before anything is computed under it, and for one request only. A node
that forgot a number in a crash would answer another request under it: one more than was agreed, and
more than its log shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

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
from tacit.node.store import LEASE, Store, Stored, decoder_of, encode_stored
from tacit.records.events import (
    EvaluationBegun,
    EvaluationRepeated,
    NumberAdopted,
    RevealBegun,
)
from tacit.records.requests import NO_ATTEMPT, Attempt, candidate_hashes

KEPT_STATES = 2
"""The last evaluation and the one before, in case the last has to be computed again."""


class StoredBest(Stored, frozen=True, tag="best/1"):
    """Shares of the best fitness after an evaluation, and the attempt that they come from."""

    number: int
    attempt: Attempt
    best: ArithmeticShare


_READ_BEST = decoder_of(list[StoredBest])


class BestSoFar:
    """Shares of the best fitness of one objective, where `improvement` is disclosed.

    The one bit that may be disclosed compares a population with all that came before it. So a state
    is never brought back once a later one is kept, and none is left out: an evaluation that was
    begun here or at a peer counts as disclosed, whether its answer got out or the node was killed
    before, and nothing follows it until it has left its state.
    """

    def __init__(self, store: Store, objective: int, /) -> None:
        self._store, self._file = store, f"best-{objective}"
        data = store.load_state(self._file)
        self._states = _READ_BEST.decode(data) if data else []
        self.from_peers: list[Attempt] = []
        """The attempts whose shares the peers have and hand over to this node, which has none."""
        self.computing = asyncio.Lock()
        """Held from the choice of the state before until the state after is kept.

        Otherwise two evaluations would compare with the same best so far.
        """

    @property
    def newest(self) -> Attempt:
        # Among equal numbers the first counts: the peers go on from what they hand over.
        return max(self.available, key=lambda attempt: attempt.number, default=NO_ATTEMPT)

    @property
    def kept(self) -> list[Attempt]:
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
        the highest numbers, so if there is none before this number, there never was one. Nor is one
        here where the peers hand it over.
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
        return None if latest is None else latest.best

    @property
    def of_three(self) -> list[Attempt]:
        """The attempts that three nodes of four computed: the shares are of three."""
        full = len(self._store.agreement.nodes) - 1
        return [state.attempt for state in self._states if len(state.best.parts) < full]

    def forget(self) -> None:
        self._states = []

    def keep(self, number: int, attempt: Attempt, best: ArithmeticShare, /) -> None:
        """Keep the shares of the best fitness on the disk, for the next evaluation."""
        new = StoredBest(number, attempt, best)
        states = [state for state in self._states if state.number != number]
        states = sorted([*states, new], key=lambda state: state.number)[-KEPT_STATES:]
        self._store.save_state(self._file, encode_stored(states))
        self._states = states


LAST_NUMBERS = 16
"""So many of its last numbers a node tells its peers when an epoch begins."""


@dataclass(slots=True)
class Counter:
    """The numbers used for one objective, with the hashes of the last requests."""

    highest: int = 0
    used: dict[int, bytes | None] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a request is checked and begun: requests begin in the order in which they came."""

    def use(self, number: int, request: bytes) -> None:
        """Use a number; the requests of old numbers are forgotten, since none is repeated."""
        self.highest = max(self.highest, number)
        self.used[number] = request
        for old in [n for n in self.used if n <= self.highest - LAST_NUMBERS]:
            del self.used[old]

    @property
    def latest(self) -> int:
        """The last number with a known request; later ones can never be computed."""
        return max((number for number, request in self.used.items() if request), default=0)

    def last(self) -> list[tuple[int, bytes]]:
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

    def replay(self, event: EvaluationBegun | NumberAdopted | RevealBegun) -> None:
        """Restore the state from a line of the log, when the node starts."""
        match event:
            case EvaluationBegun(objective=k, number=n) | NumberAdopted(objective=k, number=n):
                self.by_objective[k].use(n, bytes.fromhex(event.request))
            case RevealBegun(objective=k):
                self._revealed[k] = bytes.fromhex(event.request)

    def best_before(self, objective: int, number: int, parent: Attempt) -> ArithmeticShare | None:
        best = self.bests.get(objective)
        if best is not None:
            return best.before(number, parent, begun=self.by_objective[objective].latest)
        if parent:
            raise refuse("there is no best so far to build on here; leave the parent attempt empty")
        return None

    def use_up_lost(self) -> None:
        """Use up the numbers of the leases after a restart of the machine.

        Any of them may have been used, and the power cut may have taken the line from the log.
        """
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
        """Allow an evaluation or refuse it; when this returns, its number is used on the disk.

        `check_goes_on` refuses a new number in a run that has ended. Every computation leaves a
        line in the log, a repeat as well: which attempt it is, and on which best so far it builds.
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
                # A power cut must not make this node forget it: the next evaluation would be
                # compared with an older best so far, and disclose a second bit.
                self._store.log.sync()
            return
        if objective in self.bests:
            check_repeat(number, counter.latest)
        self._store.log.append(EvaluationRepeated(objective, number, attempt, parent_attempt))

    def _use(self, event: EvaluationBegun | NumberAdopted) -> None:
        # The lease before the line: after a power cut one of the two still has the number.
        if self._store.lease.left(event.objective, event.number) < 0:
            self._store.lease.extend(event.objective, event.number)
        self._store.log.append(event)
        self.replay(event)

    def adopt(self, theirs: dict[int, list[tuple[int, bytes]]]) -> None:
        """Use up numbers that peers have used and this node has not seen."""
        for objective, numbers in theirs.items():
            counter = self.by_objective.get(objective)
            if counter is None:
                raise EngineError(f"a peer counts objective {objective}, which does not exist")
            for number, request in numbers:
                # Also without a request: nothing is ever computed under a number that peers used.
                if number > counter.highest:
                    self._use(NumberAdopted(objective, number, request.hex()))

    async def finish(self, asked: Asked) -> None:
        """Remember the candidates and extend the lease, after the answer has left."""
        if self._agreement.final_reveal is not None and self._chosen:
            # Most of a population was in the one before; more than that need not be remembered.
            now = candidate_hashes(asked.plans)
            self._store.add_evaluated(asked.objective, now - self._last_evaluated[asked.objective])
            self._last_evaluated[asked.objective] = now
        # Early enough that `begin` hardly ever waits for the disk.
        if 0 <= self._store.lease.left(asked.objective, asked.number) < LEASE // 4:
            await asyncio.to_thread(self._store.lease.extend, asked.objective, asked.number)

    def check_reveal(self, asked: Asked) -> None:
        """Refuse a final reveal that is not allowed; reads the evaluated candidates' hashes."""
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
        """Begin the one final reveal, which is allowed; it is used up on the disk afterwards."""
        objective = asked.objective
        if objective not in self._revealed:
            check_goes_on()
            event = RevealBegun(objective, asked.request.hex(), attempt)
            self._store.log.append(event)
            self._store.log.sync()
            self.replay(event)
        else:
            self._store.log.append(EvaluationRepeated(objective, asked.number, attempt))
