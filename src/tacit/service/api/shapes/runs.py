"""Runs and taking part in them, as the API takes and shows them; `terms.py` has their terms."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tacit.service.api.shapes.general import Signature
from tacit.service.api.terms import RunTerms, Taken
from tacit.service.storage.submissions import SubmissionState
from tacit.service.workflow.lifecycle import State


class Progress(BaseModel):
    """A run's last report."""

    model_config = ConfigDict(extra="allow")

    generation: int
    """Of a sealed run, its steps."""
    steps: int | None = None
    """How many steps a sealed run has, after which it ends."""
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


class PublicWeights(BaseModel):
    """Per public objective, by its number, its weights row by row."""

    objectives: dict[int, list[list[int]]]


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
