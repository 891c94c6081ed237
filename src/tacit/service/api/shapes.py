"""What the API answers, and the small things it takes; `terms.py` has what a run is made of."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from tacit.service.api.series_terms import SeriesTerms
from tacit.service.api.terms import ParticipantName, RunTerms, Taken
from tacit.service.storage.submissions import SubmissionState
from tacit.service.workflow.lifecycle import State

Key = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
Hex = Annotated[str, BeforeValidator(bytes.hex)]
Base64 = Annotated[str, BeforeValidator(lambda data: b64encode(data).decode())]
Reason = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
Role = Literal["operator", "participant", "viewer"]


class ErrorAnswer(BaseModel):
    """Why something was not done, and what to do about it."""

    error: str
    message: str


class Join(Taken):
    """A one-time code; participants give the key that they sign with, and show that it is theirs.

    Their signature is over the line `tacit join/1` and the SHA-256 of the code.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"code": "tci_of-an-operator-or-a-viewer"},
                {"code": "tci_of-a-participant", "signing_key": "5e" * 32, "signature": "a1" * 64},
            ]
        }
    )

    code: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    signing_key: Key | None = None
    signature: Signature | None = None
    label: Annotated[str, StringConstraints(max_length=100, pattern=r"^[ -~]*$")] = ""


class Joined(BaseModel):
    """The token is shown once."""

    token: str
    account: str
    role: Role
    expires: float


class Me(BaseModel):
    """Whose token this is."""

    account: str
    role: Role
    signing_key: str | None
    expires: float


class NewAccount(Taken):
    """An account to be invited."""

    name: ParticipantName
    role: Role


class Invited(BaseModel):
    """The code is shown once."""

    name: str
    role: Role
    invitation: str
    expires: float


class AccountAnswer(BaseModel):
    """An account as operators see it."""

    name: str
    role: Role
    joined: bool
    signing_key: str | None
    created: float


class Progress(BaseModel):
    """A run's last report."""

    model_config = ConfigDict(extra="allow")

    generation: int
    evaluations: int
    evaluations_per_second: float
    best: list[float | bool | None]
    """What each objective disclosed of its best fitness, in the users' unit."""
    seconds: float
    at: float | None = None
    """When it was reported."""


class RunSummary(BaseModel):
    """A run in the list."""

    id: str
    name: str
    state: State
    reason: str | None
    created: float
    running_since: float | None
    deadline_at: float | None
    ended: float | None
    generation: int | None
    best: list[float | bool | None] | None
    reported_at: float | None = None
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


class MemberAnswer(BaseModel):
    """How far a participant is."""

    name: str
    rows: list[int]
    joined: bool
    signed: bool
    submission_state: SubmissionState


class RunAnswer(RunSummary):
    """A run with everything that its members may know."""

    terms: RunTerms
    members: list[MemberAnswer]
    cluster: str | None
    agreement_hash: str | None
    progress: Progress | None
    warnings: list[str]
    created_by: str


class RunInvited(RunAnswer):
    """A run with the one-time codes of those who have not joined, shown once."""

    invitations: dict[str, str]


class InvitationAnswer(BaseModel):
    """An invitation as the file that its account joins with; the code is shown once."""

    format: str
    url: str
    account: str
    role: Role
    code: str
    expires: float
    certificate: str | None
    """The platform's, in PEM; None where computers trust its authority anyway."""
    run: str | None


class PublicWeights(BaseModel):
    """Per public objective, by its number, its weights row by row."""

    objectives: dict[int, list[list[int]]]


class SeriesSummary(BaseModel):
    """A series in the list."""

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


class SeriesMemberAnswer(BaseModel):
    """How far a participant is."""

    name: str
    joined: bool
    signed: bool


class SeriesRunAnswer(BaseModel):
    """A run of a series."""

    id: str
    number: int
    name: str
    state: State


class SeriesAnswer(SeriesSummary):
    """A series with everything that its members may know."""

    terms: SeriesTerms
    members: list[SeriesMemberAnswer]
    its_runs: list[SeriesRunAnswer]


class SeriesInvited(SeriesAnswer):
    """A series with the one-time codes of those who have not joined, shown once."""

    invitations: dict[str, str]


class Why(Taken):
    """A reason, if one likes to give it."""

    reason: Reason | None = None


class Signed(Taken):
    """A participant's Ed25519 signature under the agreement."""

    signature: Signature


class Submission(Taken):
    """Sealed rows for one objective, by its number in the agreement."""

    objective: Annotated[int, Field(ge=0, le=1000)]
    manifest: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2})+$", max_length=20_000)]
    signature: Signature
    boxes: Annotated[list[str], Field(min_length=3, max_length=4)]
    """Base64, one per node."""


class SubmissionAnswer(BaseModel):
    """How the nodes took one's rows for an objective."""

    objective: int
    state: Literal["waiting", "accepted", "refused"]
    reason: str | None
    boxes: list[str]
    """The SHA-256 of each box."""


class Plan(BaseModel):
    """Row by row the column that it takes, or the cities of a tour in their order."""

    items: list[int]
    named: list[tuple[str, str]] | None
    """The same in the problem's own names: who gets what, or the legs."""
    values: list[float | None] | None = None
    """Per objective this plan's own value, where it was disclosed."""
    weightings: list[str] | None = None
    """Of a sealed search of several objectives: what the plan was found for, such as 3:1."""


class RunResult(BaseModel):
    """The result of a run; one that was interrupted or cancelled has its best so far."""

    state: State
    reason: str | None
    plan: Plan | None
    told: list[float | bool | None] | None
    generation: int | None
    evaluations: int | None
    seconds: float | None
    late_by_seconds: float | None
    nodes: int | None
    """How many computed it, which decides what they promise; None before versions that say it."""
    proved: bool | None = None
    """Whether it is proved that no plan is better; None where nothing was to be proved."""
    gaps: list[float] | None = None
    """Per plan, in the order of the weightings: by at most how much the optimum is better, where
    that was agreed."""
    front: list[Plan] | None
    """All different plans of the best-known set, where there are several objectives."""
    for_owners: bool = False
    """Whether there is a plan, of which each participant has its own part and nobody else any."""


class PartOfNode(BaseModel):
    """What a node sealed for one participant (base64), and what binds the node to it."""

    node: int
    box: Base64
    box_hashes: list[Hex]
    """Of all boxes of the node, in the agreement's order of participants."""
    commitments: list[Base64]
    """Per component that the node holds: a SHA-256 per row."""


class PartsAnswer(BaseModel):
    """One's own part of each plan, per search: only one's own key opens it."""

    searches: list[list[PartOfNode]]


class LogQuestion(Taken):
    """A nonce that the asker has drawn, so that no old log passes for new."""

    nonce: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}){16,64}$")]
    heads_only: bool = False
    """Only the signed heads, to keep as a receipt."""


class LogOfNode(BaseModel):
    """A node's log (base64), signed for the nonce."""

    node: int
    log: Base64
    seconds: int
    nonce: Hex
    signature: Hex
    head: str
    """The hash of the log's last line."""


class ManifestAnswer(BaseModel):
    """Which boxes a participant sealed for an objective, signed by it."""

    participant: str
    objective: int
    manifest: Hex
    signature: Hex


class LogsAnswer(BaseModel):
    """What it takes to follow a run oneself."""

    logs: list[LogOfNode]
    manifests: list[ManifestAnswer]
    words: dict[int, str]
    """Per objective, what the nodes drew together for the seed."""


class Health(BaseModel):
    """Whether the platform works."""

    status: Literal["ok"]
    version: str
