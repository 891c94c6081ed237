"""What an evaluation disclosed to whoever follows the search."""

from __future__ import annotations

import msgspec


class Answer(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What was disclosed of one objective's population."""

    labels: list[int]
    best: int | None = None
    """The best value, where it is disclosed."""
