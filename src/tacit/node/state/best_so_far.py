"""A node's shares of the best fitness so far, where `improvement` is disclosed.

The one bit that may be disclosed compares a population with all that came before it. So a state is
never brought back once a later one is kept, and none is left out: an evaluation that was begun here
or at a peer counts as told, whether its answer got out or the node was killed before, and nothing
follows it until it has left its state.
"""

from __future__ import annotations

import asyncio

import numpy as np

from tacit.mpc import ArithmeticShare
from tacit.node.state.policy import refuse
from tacit.node.state.store import Store, StoredBest
from tacit.wire.attempt import NO_ATTEMPT, Attempt

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
