"""What stays in memory between requests: shares of weights and followed searches, the last used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from tacit.agreement.working_memory import search_bytes, weights_bytes
from tacit.node.state.agreement_state import AgreementState

MEGABYTE = 1_000_000
KEPT_BYTES = 64 << 20
"""Others are opened again from their boxes when they are needed."""


class KeptSearches:
    """The followed searches of each platform that were used last.

    Others are followed again from their answers when they are needed.
    """

    def __init__(self, *, megabytes: int) -> None:
        self._most = megabytes * MEGABYTE
        self._used: dict[str, OrderedDict[bytes, AgreementState]] = {}

    @contextmanager
    def used(self, agreement_state: AgreementState, platform: str, /) -> Iterator[None]:
        """A request is worked on; afterwards what was not used for longest makes room."""
        try:
            yield
        finally:
            if agreement_state.derivation is not None:
                used = self._used.setdefault(platform, OrderedDict())
                used[agreement_state.hash] = agreement_state
                used.move_to_end(agreement_state.hash)
                self._make_room(used)

    def _make_room(self, used: OrderedDict[bytes, AgreementState]) -> None:
        for name in [name for name, each in used.items() if each.ended]:
            _forget(used.pop(name))
        total = sum(search_bytes(each.agreement) for each in used.values())
        while total > self._most and len(used) > 1:
            _, oldest = used.popitem(last=False)
            total -= search_bytes(oldest.agreement)
            _forget(oldest)


def _forget(agreement_state: AgreementState) -> None:
    if agreement_state.derivation is not None:
        agreement_state.derivation.forget()


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
