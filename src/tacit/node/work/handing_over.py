"""How all four nodes compute on from a state that three of them left.

The three hand it over in the first round of the computation, under the keys of the epoch that the
fourth is back with. Whether they do is part of what all nodes must agree on before they speak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.mpc import ArithmeticShare, Session, Size, hand_over
from tacit.node.state.agreement_state import AgreementState
from tacit.node.state.best_so_far import BestSoFar
from tacit.node.state.sealed_progress import SealedProgress
from tacit.node.work.session import ComputingNode
from tacit.records.events import BuiltOnThree
from tacit.wire.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Handover:
    """Which state is handed over, and to whom; none where all that compute have it."""

    parent: Attempt
    lost: int | None = None

    @classmethod
    def find(
        cls,
        node: ComputingNode,
        agreement_state: AgreementState,
        epoch: int,
        parent: Attempt,
        states: BestSoFar | SealedProgress | None,
        /,
    ) -> Handover:
        """What an attempt in this epoch takes, if it builds on `parent`."""
        held = node.epochs.get((agreement_state.hash, epoch))
        everybody = held is not None and held.nodes == len(agreement_state.agreement.nodes)
        if states is None or not everybody:
            return cls(parent)
        if parent in states.from_peers:
            return cls(parent, node.number)
        return cls(parent, agreement_state.epochs.lost if parent in states.of_three else None)

    def agreed(self) -> bytes:
        """What the nodes must agree on."""
        return b"" if self.lost is None else f"node {self.lost} gets {self.parent}".encode()

    def log(self, agreement_state: AgreementState, attempt: Attempt, /) -> None:
        """Write down that what is computed from now on is not checked all the way."""
        if self.lost is not None:
            agreement_state.store.log.append(BuiltOnThree(attempt, self.parent))

    async def to_all(
        self, session: Session, held: Sequence[ArithmeticShare], sizes: Sequence[Size], /
    ) -> list[ArithmeticShare]:
        """The state as all nodes hold it; `held` is empty at the one that lacks it. 1 round."""
        if self.lost is None:
            return list(held)
        return await hand_over(session, held, sizes, lost=self.lost, label="return")
