"""What an evaluation is: all that its keys, the tags of its frames and its channels follow from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tacit.errors import ParameterError
from tacit.mpc.transport.frame import Channel


@dataclass(frozen=True, slots=True)
class Context:
    """What identifies an evaluation: every subkey is derived from all of it."""

    agreement: bytes
    objective: int
    evaluation: int
    attempt: int
    request: bytes

    def __post_init__(self) -> None:
        for name, limit in (("objective", 16), ("evaluation", 64), ("attempt", 16)):
            if not 0 <= getattr(self, name) < 1 << limit:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}; frames hold 0..2^{limit} - 1"
                )

    def info(self) -> bytes:
        """All fields in one unambiguous string of bytes."""
        agreement = hashlib.sha256(self.agreement).digest()
        request = hashlib.sha256(self.request).digest()
        numbers = self.objective.to_bytes(2, "little"), self.evaluation.to_bytes(8, "little")
        return agreement + b"".join(numbers) + self.attempt.to_bytes(4, "little") + request

    @property
    def tag(self) -> bytes:
        """What frames carry, so that nodes with different requests notice at once."""
        return hashlib.sha256(b"tag" + self.info()).digest()[:8]

    def channel(self, substream: int) -> Channel:
        """The conversation of one substream of this evaluation."""
        name = hashlib.sha256(self.agreement).digest()[:16]
        return Channel(name, self.objective, self.evaluation, self.attempt, substream)
