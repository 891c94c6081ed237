"""What the platform answers. Fields that are not known here do no harm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

Value = float | bool | None
"""What an objective disclosed, in the users' unit; None where it disclosed nothing."""


class Health(msgspec.Struct, frozen=True):
    """Whether the platform works."""

    status: str
    version: str


class Joined(msgspec.Struct, frozen=True):
    """An invitation was taken: the account and its token."""

    token: str
    account: str
    role: str
    expires: float


class Me(msgspec.Struct, frozen=True):
    """Whose token it is."""

    account: str
    role: str
    signing_key: str | None = None
    expires: float = 0.0


class Account(msgspec.Struct, frozen=True):
    """An account as operators see it."""

    name: str
    role: str
    joined: bool = False
    signing_key: str | None = None
    created: float = 0.0


class Invited(msgspec.Struct, frozen=True):
    """An account with its one-time code, which is shown once."""

    name: str
    role: str
    invitation: str
    expires: float


class Progress(msgspec.Struct, frozen=True):
    """A run's last report."""

    generation: int
    """Of a sealed run, its steps."""
    steps: int | None = None
    """How many steps a sealed run has, after which it ends."""
    evaluations: int = 0
    evaluations_per_second: float = 0.0
    best: list[Value] = []
    seconds: float = 0.0
    at: float | None = None


class RunSummary(msgspec.Struct, frozen=True):
    """A line of the list of runs."""

    id: str
    name: str
    state: str
    reason: str | None = None
    created: float = 0.0
    running_since: float | None = None
    deadline_at: float | None = None
    ended: float | None = None
    generation: int | None = None
    best: list[Value] | None = None
    series: str | None = None
    series_number: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is over; an interrupted one can be resumed."""
        return self.state in ENDS


ENDS = frozenset({"finished", "interrupted", "failed", "cancelled"})


class Member(msgspec.Struct, frozen=True):
    """A participant of a run or of a series, as all members may see it."""

    name: str
    joined: bool = False
    signed: bool = False
    submission_state: str = "missing"
    rows: list[int] = []


class RunView(RunSummary, frozen=True):
    """A run; its terms are the platform's word, only the agreement is signed."""

    terms: dict[str, Any] = {}
    members: list[Member] = []
    cluster: str | None = None
    agreement_hash: str | None = None
    progress: Progress | None = None
    warnings: list[Any] = []
    created_by: str = ""

    @property
    def deadline_seconds(self) -> float | None:
        """How long the run may take, counted from its start, if the platform says so."""
        seconds = self.terms.get("deadline_seconds")
        return float(seconds) if isinstance(seconds, int | float) else None


class InvitedRun(RunView, frozen=True):
    """A run with the one-time codes of those who have not joined, which are shown once."""

    invitations: dict[str, str] = {}


class SubmittedRows(msgspec.Struct, frozen=True):
    """How far the sealed rows for one objective have come."""

    objective: int
    state: str
    reason: str | None = None
    boxes: list[str] = []


class Plan(msgspec.Struct, frozen=True):
    """The column of each row, or the tour. Names come from what was signed, not from here."""

    items: list[int]
    values: list[float | None] | None = None
    """Per objective this plan's own value, where it was disclosed: the platform's word."""
    weightings: list[str] | None = None
    """Of a sealed search of several objectives: what the plan was found for."""
    named: list[tuple[str, str]] | None = None
    """The same in names, as the platform writes them."""

    def title(self, number: int, count: int, names: Sequence[str], /) -> str:
        """Which of several it is, what it was found for, and its own values where they are known.

        >>> Plan([1], weightings=["3:1"]).title(2, 2, ["delay", "noise"])
        'plan 2 of 2, weighting 3:1'
        >>> Plan([1], values=[12287.0, None]).title(1, 3, ["delay", "noise"])
        'plan 1 of 3: delay 12,287'
        """
        words = f"plan {number} of {count}"
        if self.weightings:
            words += f", weighting {' and '.join(self.weightings)}"
        known = [
            f"{names[k] if k < len(names) else f'objective {k + 1}'} {value:,.10g}"
            for k, value in enumerate(self.values or [])
            if value is not None
        ]
        return f"{words}: {', '.join(known)}" if known else words


class RunResult(msgspec.Struct, frozen=True):
    """The result of a run that has ended."""

    state: str
    reason: str | None = None
    plan: Plan | None = None
    told: list[Value] | None = None
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
    nodes: int | None = None


class PartOfNode(msgspec.Struct, frozen=True):
    """What a node sealed for us, and what binds it to that."""

    node: int
    box: bytes
    box_hashes: list[str]
    commitments: list[bytes]


class Parts(msgspec.Struct, frozen=True):
    """Per search, the boxes with our part of its plan."""

    searches: list[list[PartOfNode]]


class PublicWeights(msgspec.Struct, frozen=True):
    """Per public objective, its weights row by row."""

    objectives: dict[int, list[list[int]]]


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
    words: dict[int, str] = {}
    """Per objective, what the nodes drew together for the seed."""


class SeriesSummary(msgspec.Struct, frozen=True):
    """A series as the platform shows it; only its document is signed."""

    id: str
    name: str
    state: str
    hash: str | None = None
    cluster: str = ""
    created: float = 0.0
    next_at: float | None = None
    ended: float | None = None
    reason: str | None = None
    runs: int = 0


class SeriesRun(msgspec.Struct, frozen=True):
    """A run of a series."""

    id: str
    number: int
    name: str
    state: str


class SeriesView(SeriesSummary, frozen=True):
    """A series with its members and runs."""

    terms: dict[str, Any] = {}
    members: list[Member] = []
    its_runs: list[SeriesRun] = []
    invitations: dict[str, str] = {}
    """One-time codes of those who have not joined; shown once, by what creates the series."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the platform last saw it."""

    host: str
    port: int
    reachable: bool
    signing_key: str = ""
    certificate: str = ""
    clock_offset_seconds: float | None = None
    certificate_expires: float | None = None
    last_seen: float | None = None


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that work together, and how busy they are."""

    name: str
    nodes: list[Node]
    slots: int = 0
    running: int = 0
    waiting: int = 0
    certificate_expires: float | None = None
