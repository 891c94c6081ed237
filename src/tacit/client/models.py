"""The records of the platform's API: what it takes and answers, for clients and platform alike.

`terms.py` has what runs and series are made of. Every record is defined once: routes answer with
it, the client decodes it, the dashboard and the commands show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from tacit.client.terms import (
    UNSEEN,
    RunObjective,
    RunTerms,
    SeriesTerms,
    ShortName,
)
from tacit.errors import InputError, RunEndedError
from tacit.names import checked_name

Disclosed = float | bool | None
"""What an objective disclosed, in the users' unit; None where it disclosed nothing."""
RunState = Literal[
    "draft",
    "invited",
    "agreed",
    "submitted",
    "running",
    "finished",
    "interrupted",
    "failed",
    "cancelled",
]
RowsState = Literal["waiting", "accepted", "refused"]
SubmissionState = RowsState | Literal["missing"]
Role = Literal["operator", "participant", "viewer"]
# Patterns end with `\Z`, since `$` would let a line end pass.
HexSignature = Annotated[str, Meta(pattern=r"^[0-9a-f]{128}\Z")]
HexKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
ENDS: frozenset[RunState] = frozenset({"finished", "interrupted", "failed", "cancelled"})


T = TypeVar("T")
MOST_LISTED = 500
"""The longest page of a list."""


class Page(Struct, Generic[T], frozen=True):
    """A part of a list, and how to ask for what comes after it."""

    items: list[T]
    next: str | None = None
    """What to give as `after` for the next page; None on the last one."""


class ErrorAnswer(Struct, frozen=True):
    """The answer to a request that was refused: why, and what to do about it."""

    error: str = ""
    """The code of a class in `tacit.errors`."""
    message: str = ""


class Health(Struct, frozen=True):
    """Whether the platform works."""

    status: Literal["ok"]
    version: str


class Reason(Struct, frozen=True, kw_only=True):
    """An optional reason."""

    reason: Annotated[str, Meta(max_length=500, pattern=rf"^[^{UNSEEN}]*\Z")] | None = None

    def of(self, what: str, /) -> str:
        return f"{what}: {self.reason}" if self.reason else what


# Accounts and joining.


class Join(Struct, frozen=True, kw_only=True):
    """A one-time code; participants give the key that they sign with, and prove that it is theirs.

    Their signature is over the line `tacit joining/1` and the SHA-256 of the code, of the account
    and of the platform's address, 32 bytes each: so it counts nowhere else and for nobody else.
    """

    code: Annotated[str, Meta(min_length=1, max_length=200)]
    signing_key: HexKey | None = None
    signature: HexSignature | None = None
    account: Annotated[str, Meta(max_length=200)] | None = None
    """As whom a participant joins."""
    platform: Annotated[str, Meta(max_length=300)] | None = None
    """Where it joins: scheme, host and port."""
    label: Annotated[str, Meta(max_length=100, pattern=r"^[ -~]*\Z")] = ""

    def __post_init__(self) -> None:
        if self.account is not None:
            msgspec.structs.force_setattr(self, "account", checked_name(self.account))


class JoinAnswer(Struct, frozen=True):
    """An invitation was taken: the account and its token, which is shown once."""

    token: str
    account: str
    role: Role
    expires: float


class Me(Struct, frozen=True):
    """Whose token it is."""

    account: str
    role: Role
    signing_key: str | None
    expires: float


class NewAccount(Struct, frozen=True):
    """An account to be invited."""

    name: Annotated[str, Meta(max_length=200)]
    role: Role

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", checked_name(self.name))


class AccountView(Struct, frozen=True):
    """An account as operators see it."""

    name: str
    role: Role
    joined: bool
    signing_key: str | None
    created: float


class InvitedAccount(Struct, frozen=True):
    """An account with its one-time code, which is shown once."""

    name: str
    role: Role
    invitation: str
    expires: float


# How an account is notified.


class MailChange(Struct, frozen=True):
    """A mail address, or none."""

    # Without blanks and line ends, which could begin another header of the mail.
    mail: (
        Annotated[
            str,
            Meta(
                max_length=254,
                pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@"
                r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\Z",
            ),
        ]
        | None
    )


class NewWebhook(Struct, frozen=True):
    """An address to be called."""

    url: Annotated[str, Meta(max_length=2000, pattern=r"^https?://[!-~]+\Z")]


class WebhookView(Struct, frozen=True):
    """A webhook of an account."""

    id: str
    url: str
    created: float
    error: str | None
    """Why the last delivery failed; None if it did not."""
    secret: str | None = None
    """What its calls are signed with; shown once, when it is added."""


class DeliveryTest(Struct, frozen=True):
    """A test message to an account, by one of its ways."""

    webhook: str | None
    """None: by mail."""
    at: float
    sent: float | None
    """When it arrived; None with no `error`: it was not tried yet."""
    error: str | None


class NotificationsView(Struct, frozen=True):
    """Mail address and webhooks of an account."""

    mail: str | None
    sends_mail: bool
    """Whether this platform sends mail at all."""
    webhooks: list[WebhookView]
    tests: list[DeliveryTest] = []
    """The last test, one message for each way that there was."""


# Runs.


class RunProgress(Struct, frozen=True, kw_only=True):
    """A run's last report."""

    generation: int
    """Of a sealed run, its steps."""
    steps: int | None = None
    """How many steps a sealed run has, after which it ends."""
    evaluations: int
    evaluations_per_second: float
    best: list[Disclosed]
    """What each objective disclosed of its best fitness, in the users' unit."""
    seconds: float
    at: float | None = None
    """When it was reported."""


class ListedRun(Struct, frozen=True):
    """A run in the list."""

    id: str
    name: str
    state: RunState
    reason: str | None
    created: float
    running_since: float | None
    deadline_at: float | None
    ended: float | None
    generation: int | None
    best: list[Disclosed] | None
    reported_at: float | None
    """When something was last heard of it."""
    series: str | None
    """The series that it is a run of."""
    series_number: int | None
    kind: str
    """Of its problem."""
    disclosures: list[str]
    """What is disclosed of its confidential objectives, each once."""
    participants: int
    joined: int
    """How many of the participants have; so the next two."""
    signed: int
    accepted: int
    """Whose costs the nodes have taken."""

    @property
    def has_ended(self) -> bool:
        """Whether it is over; an interrupted one can be resumed."""
        return self.state in ENDS


class MemberView(Struct, frozen=True):
    """A participant of a run, as all members may see it."""

    name: str
    joined: bool
    signed: bool
    submission_state: SubmissionState = "missing"
    rows: list[int] = []


class RunView(ListedRun, frozen=True, kw_only=True):
    """A run with everything that its members may know; only the agreement is signed."""

    terms: RunTerms
    members: list[MemberView]
    cluster: str | None
    agreement_hash: str | None
    progress: RunProgress | None
    warnings: list[str]
    created_by: str
    invitations: dict[str, str] = {}
    """One-time codes of those who have not joined; shown once, by what invites them."""


class PublicWeights(Struct, frozen=True):
    """Per public objective, by its number, its weights row by row."""

    objectives: dict[int, list[list[int]]]

    def filled_in(self, terms: RunTerms, /) -> RunTerms:
        """The terms with these weights, which the platform shows apart from them."""
        objectives: list[RunObjective] = [
            msgspec.structs.replace(each, weights=self.objectives.get(k, each.weights))
            for k, each in enumerate(terms.objectives)
        ]
        return msgspec.structs.replace(terms, objectives=objectives)


class Signed(Struct, frozen=True):
    """A participant's Ed25519 signature under an agreement or a series."""

    signature: HexSignature


class SubmitRows(Struct, frozen=True):
    """Sealed rows for one objective, by its number in the agreement."""

    objective: Annotated[int, Meta(ge=0, le=1000)]
    manifest: Annotated[str, Meta(pattern=r"^([0-9a-f]{2})+\Z", max_length=20_000)]
    signature: HexSignature
    boxes: Annotated[list[bytes], Meta(min_length=3, max_length=4)]
    """Base64, one per node."""


class SubmittedRows(Struct, frozen=True):
    """The nodes' check of a participant's rows for an objective."""

    objective: int
    state: RowsState
    reason: str | None
    boxes: list[str]
    """The SHA-256 of each box."""


class Generate(Struct, frozen=True, kw_only=True):
    """A problem to draw: airline delays, or one of a kind."""

    kind: Literal["delays", "ap", "tsp", "capacitated", "routing"]
    rows: Annotated[int, Meta(ge=2, le=300)] = 20
    columns: Annotated[int, Meta(ge=2, le=600)] | None = None
    """Of a routing problem: its vehicles."""
    participants: Annotated[list[str], Meta(min_length=1, max_length=50)] | None = None
    """Their names; left out, three are invented."""
    # Numbers that a browser holds exactly.
    seed: Annotated[int, Meta(ge=0, lt=2**53)] = 1
    weights_up_to: Annotated[int, Meta(ge=1, le=10**6)] = 1000
    disclosure: ShortName | None = None
    """Left out, sealed where the kind can be, otherwise top:15."""
    deadline_seconds: Annotated[float, Meta(gt=0, le=86_400)] = 60.0

    def __post_init__(self) -> None:
        if self.participants is not None:
            names = [checked_name(name) for name in self.participants]
            msgspec.structs.force_setattr(self, "participants", names)


# Results.


class Plan(Struct, frozen=True, kw_only=True):
    """Row by row the column that it takes, or the places of a tour in their order.

    Participants take names from what was signed, not from here.
    """

    items: list[int]
    named: list[tuple[str, str]] | None = None
    """The same in the problem's own names: who gets what, or the legs."""
    values: list[float | None] | None = None
    """Per objective this plan's own value, where it was disclosed: the platform's word."""
    weightings: list[str] | None = None
    """Of a sealed search of several objectives: what the plan was found for, such as 3:1."""

    def title(self, number: int, count: int, names: Sequence[str], /) -> str:
        """Number, weighting and, where they are known, values of one of several plans.

        >>> Plan(items=[1], weightings=["3:1"]).title(2, 2, ["delay", "noise"])
        'plan 2 of 2, weighting 3:1'
        >>> Plan(items=[1], values=[12287.0, None]).title(1, 3, ["delay", "noise"])
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


def check_finished(run: str, state: str, reason: str | None, /) -> None:
    """Raise a `RunEndedError` for a run that ended in any other way than finished."""
    if state != "finished":
        raise RunEndedError(f"{run} is {state}: {reason or 'no reason is given'}")


class FoundPlans(Struct, frozen=True, kw_only=True):
    """The plans of a run, as the platform stores them when the run ends."""

    plan: Plan | None = None
    front: list[Plan] | None = None
    """All different plans, where there are several objectives; the first is `plan`."""
    disclosed: list[Disclosed] | None = None
    """What each objective disclosed in the generation that the plan comes from."""
    generation: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    late_by_seconds: float | None = None
    nodes: int | None = None
    """How many computed it, which decides what they promise."""
    proved: bool | None = None
    """Whether it is proved that no plan is better; None where nothing was to be proved."""
    gaps: list[float] | None = None
    """Per plan, in the order of the weightings: by at most how much the optimum is better, where
    that was agreed."""
    for_owners: bool = False
    """Whether there is a plan, of which each participant has its own part alone."""

    @property
    def plans(self) -> list[Plan]:
        """All different plans, the first one first."""
        return list(self.front or ([] if self.plan is None else [self.plan]))

    @property
    def count(self) -> int:
        return len(self.plans)

    def check_number(self, number: int, /) -> None:
        """Refuse a plan that is not there; they are counted from 1."""
        if self.count and not 1 <= number <= self.count:
            raise InputError(f"there is no plan {number}; give 1 to {self.count}")


class RunResult(FoundPlans, frozen=True, kw_only=True):
    """The result of a run that has ended; an interrupted or cancelled one has its best so far."""

    state: RunState
    reason: str | None


class PartOfNode(Struct, frozen=True):
    """A box that a node sealed for us, and what binds the node to it."""

    node: int
    box: bytes
    box_hashes: list[str]
    """Of all boxes of the node, in the agreement's order of participants."""
    commitments: list[bytes]
    """Per component that the node holds: a SHA-256 per row."""


class Parts(Struct, frozen=True):
    """One's own part of each plan, per search: only one's own key opens it."""

    searches: list[list[PartOfNode]]


class LogQuestion(Struct, frozen=True, kw_only=True):
    """A nonce that the asker has drawn, so that no old log passes for new."""

    nonce: Annotated[str, Meta(pattern=r"^([0-9a-f]{2}){16,64}\Z")]
    heads_only: bool = False
    """Only the signed heads, to keep as a receipt."""


class CarriedLog(Struct, frozen=True):
    """A node's log as the platform carries it, with the node's signature for our nonce."""

    node: int
    log: bytes
    """Empty where only the head was asked for."""
    seconds: int
    nonce: str
    signature: str
    head: str = ""
    """The hash of the log's last line."""


class CarriedManifest(Struct, frozen=True):
    """The signed list of boxes that a participant sealed for an objective."""

    participant: str
    objective: int
    manifest: str
    signature: str


class CarriedLogs(Struct, frozen=True):
    """Logs and manifests with which a run is checked independently."""

    logs: list[CarriedLog]
    manifests: list[CarriedManifest] = []
    words: dict[int, str] = {}
    """Per objective, what the nodes drew together for the seed."""


# Series.


class ListedSeries(Struct, frozen=True):
    """A series in the list; only its document is signed."""

    id: str
    name: str
    state: Literal["invited", "agreed", "ended"]
    hash: str | None
    """Of what is signed; None until all have joined."""
    cluster: str
    created: float
    next_at: float | None
    """When the next run starts by itself."""
    ended: float | None
    reason: str | None
    runs: int


class SeriesRun(Struct, frozen=True):
    """A run of a series."""

    id: str
    number: int
    name: str
    state: RunState


class SeriesView(ListedSeries, frozen=True, kw_only=True):
    """A series with its members and runs."""

    terms: SeriesTerms
    members: list[MemberView]
    its_runs: list[SeriesRun]
    invitations: dict[str, str] = {}
    """One-time codes of those who have not joined; shown once, by what creates the series."""


# Nodes.


class NodeView(Struct, frozen=True, kw_only=True):
    """A node as the platform last saw it."""

    host: str
    port: int
    signing_key: str
    certificate: str
    """The SHA-256 of its TLS certificate."""
    reachable: bool
    clock_offset_seconds: float | None
    """How far its clock is ahead of the platform's; None before the first answer."""
    certificate_expires: float | None = None
    """When that is, in seconds since 1970."""
    last_seen: float | None = None
    """When it last answered."""
    round_trip_seconds: float | None = None
    """There and back between it and the farthest of the other nodes, as it says."""
    room_used: float | None = None
    """Which part of its room for the platform is taken, as it says; from 1 on it takes no runs."""
    scarcest: str | None = None
    """The setting of the node that limits this."""


class ClusterView(Struct, frozen=True, kw_only=True):
    """Nodes that work together, and how busy they are."""

    name: str
    nodes: list[NodeView]
    slots: int
    """Runs at a time."""
    running: int
    waiting: int
    certificate_expires: float | None = None
    """When the certificate expires that the platform shows these nodes."""
