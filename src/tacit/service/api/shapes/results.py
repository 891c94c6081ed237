"""What came of a run, as the API shows it: plans, parts of owners, the nodes' logs."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, StringConstraints

from tacit.service.api.terms import Taken
from tacit.service.workflow.lifecycle import State

Hex = Annotated[str, BeforeValidator(bytes.hex)]
Base64 = Annotated[str, BeforeValidator(lambda data: b64encode(data).decode())]


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
