"""What the platform answers, with what this machine adds to it."""

from __future__ import annotations

import msgspec

from tacit.client import RunResult, SubmittedRows


class Submission(SubmittedRows, frozen=True, kw_only=True):
    """How far the sealed rows for one objective have come."""

    earlier: bool = False
    """Whether this machine had handed it in before, so that nothing new was sealed now."""
    repeated: str | None = None
    """What adds up, where this machine had sealed some of the rows for other runs before."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""
    unkept: str | None = None
    """Why this machine could keep no receipts, although the rows are handed in."""


class Outcome(RunResult, frozen=True, kw_only=True):
    """The result of a run, with what only this machine knows of it."""

    own_rows: list[dict[int, int]] = msgspec.field(default_factory=list)
    """Of each plan for its owners, the columns of one's own rows, as put together here."""
    rejected: list[str] = msgspec.field(default_factory=list)
    """Why boxes of some nodes do not count."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""
