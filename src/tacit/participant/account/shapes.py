"""What the platform answers, as far as a participant reads it; more fields do no harm."""

from __future__ import annotations

from typing import Any

import msgspec


class Joined(msgspec.Struct, frozen=True):
    """An invitation was taken: the account and its token."""

    token: str
    account: str
    role: str
    expires: float


class RunSummary(msgspec.Struct, frozen=True):
    """A line of the list of runs."""

    id: str
    name: str
    state: str
    reason: str | None = None
    deadline_at: float | None = None
    series: str | None = None
    series_number: int | None = None


class SeriesView(msgspec.Struct, frozen=True):
    """A series as the platform shows it; only its document is signed."""

    id: str
    name: str
    state: str
    hash: str | None = None
    next_at: float | None = None
    runs: int = 0


class Member(msgspec.Struct, frozen=True):
    """A participant of a run, as all members may see it."""

    name: str
    joined: bool = False
    signed: bool = False
    submission_state: str = "missing"


class RunView(msgspec.Struct, frozen=True):
    """A run; its terms are the platform's word, only the agreement is signed."""

    id: str
    name: str
    state: str
    reason: str | None = None
    terms: dict[str, Any] = {}
    members: list[Member] = []
    deadline_at: float | None = None
    warnings: list[Any] = []

    @property
    def deadline_seconds(self) -> float | None:
        """How long the run may take, counted from its start, if the platform says so."""
        seconds = self.terms.get("deadline_seconds")
        return float(seconds) if isinstance(seconds, int | float) else None


class Submission(msgspec.Struct, frozen=True):
    """How far the sealed rows for one objective have come."""

    objective: int
    state: str
    reason: str | None = None
    boxes: list[str] = []
    earlier: bool = False
    """Whether this machine had handed it in before, so that nothing new was sealed now."""
    repeated: str | None = None
    """What adds up, where this machine had sealed some of the rows for other runs before."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""


class Plan(msgspec.Struct, frozen=True):
    """The column of each row, or the tour. Names come from what was signed, not from here."""

    items: list[int]
    values: list[float | None] | None = None
    """Per objective this plan's own value, where it was disclosed: the platform's word."""
    weightings: list[str] | None = None
    """Of a sealed search of several objectives: what the plan was found for."""


class Outcome(msgspec.Struct, frozen=True):
    """The result of a run, or its state so far."""

    state: str
    reason: str | None = None
    plan: Plan | None = None
    told: list[float | bool | None] | None = None
    generation: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    late_by_seconds: float | None = None
    proved: bool | None = None
    """Whether the platform says that the nodes proved it to be the optimum."""
    gaps: list[float] | None = None
    """By at most how much the platform says that each plan is worse than the optimum."""
    front: list[Plan] | None = None
    """All different plans, where there are several objectives; the first is `plan`."""
    for_owners: bool = False
    """Whether the platform says that each participant has its own part of the plan."""
    own_rows: list[dict[int, int]] = []
    """Of each such plan, the columns of one's own rows, as they were put together here."""
    rejected: list[str] = []
    """Why boxes of some nodes do not count."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""


class CarriedPartOfNode(msgspec.Struct, frozen=True):
    """What a node sealed for us, and what binds it to that."""

    node: int
    box: bytes
    box_hashes: list[str]
    commitments: list[bytes]


class CarriedPublicWeights(msgspec.Struct, frozen=True):
    """Per public objective, its weights row by row."""

    objectives: dict[int, list[list[int]]]


class CarriedParts(msgspec.Struct, frozen=True):
    """Per search, the boxes with our part of its plan."""

    searches: list[list[CarriedPartOfNode]]


class CarriedLog(msgspec.Struct, frozen=True):
    """A node's log as the platform carries it, with the node's signature for our nonce."""

    node: int
    log: bytes
    seconds: int
    nonce: str
    signature: str
    head: str = ""
    """The hash of the log's last line, where the log itself was not asked for."""


class CarriedManifest(msgspec.Struct, frozen=True):
    """A participant's signed manifest."""

    participant: str
    objective: int
    manifest: str
    signature: str


class CarriedLogs(msgspec.Struct, frozen=True):
    """What the platform answers when somebody asks for the nodes' logs."""

    logs: list[CarriedLog]
    manifests: list[CarriedManifest] = []
