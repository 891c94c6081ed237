"""Which agreements' shares stay in memory between computations: those used last."""

from __future__ import annotations

from collections import OrderedDict

from tacit.engine.agreement.working_memory import weights_bytes
from tacit.engine.node.state.agreement_state import AgreementState

KEPT_BYTES = 64 << 20
"""Others are opened again from their boxes when they are needed."""


class KeptWeights:
    """The agreements whose shares are in memory, the one used last at the end."""

    def __init__(self) -> None:
        self._used: OrderedDict[bytes, AgreementState] = OrderedDict()

    def use(self, agreement_state: AgreementState, /) -> None:
        """An agreement's shares are needed now; what was not used for longest makes room."""
        self._used[agreement_state.hash] = agreement_state
        self._used.move_to_end(agreement_state.hash)
        total = sum(weights_bytes(each.agreement) for each in self._used.values())
        while total > KEPT_BYTES and len(self._used) > 1:
            _, oldest = self._used.popitem(last=False)
            oldest.inputs.drop_weights()
            total -= weights_bytes(oldest.agreement)

    def forget(self, agreement: bytes, /) -> None:
        """The agreement is gone."""
        self._used.pop(agreement, None)
