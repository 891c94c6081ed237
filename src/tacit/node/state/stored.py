"""What states on a node's disk are made of."""

from __future__ import annotations

import msgspec
import numpy as np

from tacit.mpc import ArithmeticShare


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="stored"):
    """What all states on the disk have: a tag with a version."""


class StoredShare(msgspec.Struct, frozen=True, array_like=True):
    """What this node has of a shared array, as a file has it."""

    word: int
    """Bytes per word."""
    size: tuple[int, ...]
    parts: dict[int, bytes]

    @classmethod
    def of(cls, share: ArithmeticShare, /) -> StoredShare:
        """Return a share to be written."""
        parts = {c: np.ascontiguousarray(part).tobytes() for c, part in share.parts.items()}
        return cls(share.dtype.itemsize, share.shape, parts)

    def read(self) -> ArithmeticShare:
        """Return the share again."""
        word = f"<u{self.word}"
        return ArithmeticShare(
            {c: np.frombuffer(part, word).reshape(self.size) for c, part in self.parts.items()}
        )
