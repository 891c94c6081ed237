"""States that three nodes of four have, and hand over to the fourth once it is back.

The nodes tell each other of them when an epoch of all four begins. What all peers of a node say
they have, and it has not, is handed over with the first computation that builds on it: until that
has come to its end, everybody keeps what it has, and it can be begun again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tacit.node.state.best_so_far import BestSoFar
from tacit.node.state.sealed_progress import SealedProgress
from tacit.wire.attempt import Attempt
from tacit.wire.peer_messages import EpochBegins

SETTLE_SECONDS = 1.0
"""So long a computation under way may take to leave its state."""

Names = dict[int, list[Attempt]]
"""Per objective, or per sealed search, the attempts that states come from."""


class StatesOfThree:
    """The states that the computations of one agreement build on, by who has them."""

    def __init__(
        self,
        bests: Mapping[int, BestSoFar],
        searches: Mapping[int, SealedProgress],
        /,
        *,
        nodes: int,
    ) -> None:
        self._bests, self._searches, self._nodes = bests, searches, nodes

    def bests(self) -> Names:
        """Per objective, what three nodes have, as one of them says."""
        return {k: best.of_three for k, best in self._bests.items() if best.of_three}

    def sealed(self) -> Names:
        """Per sealed search, what three nodes have, as one of them says."""
        return {k: each.of_three for k, each in self._searches.items() if each.of_three}

    async def settled(self) -> None:
        """Let what three nodes compute now leave its state, so that all of them tell of it."""
        states: list[BestSoFar | SealedProgress] = [*self._bests.values()]
        for each in [*states, *self._searches.values()]:
            if each.of_three:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SETTLE_SECONDS), each.computing:
                        pass

    def hear(self, told: Sequence[EpochBegins], /) -> None:
        """Take note of what all peers have and we have not."""
        everybody = len(told) == self._nodes - 1
        for k, best in self._bests.items():
            said = [each.bests_of_three.get(k, []) for each in told]
            best.from_peers = _missing(best.kept, said) if everybody else []
        for k, search in self._searches.items():
            said = [each.states_of_three.get(k, []) for each in told]
            search.from_peers = _missing(search.names, said) if everybody else []


def _missing(own: Sequence[Attempt], said: Sequence[list[Attempt]]) -> list[Attempt]:
    """What all peers say they have, and is not here.

    >>> _missing([], [[Attempt("7:1:0"), Attempt("6:1:0")], [Attempt("7:1:0")]])
    ['7:1:0']
    """
    common = set.intersection(*map(set, said)) if said else set[Attempt]()
    return sorted(common - set(own))
