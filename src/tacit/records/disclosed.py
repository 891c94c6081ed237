"""What nodes disclose: a payload of its own for each disclosure, and one record around all of them.

The platform's ledger has an entry `Disclosed` per disclosure. The nodes log `Sent` with the same
kind, number, attempt and request, and a salted hash of what left them. So one check
(`tacit.verify`) holds any entry against the logs. A new disclosure adds a payload here, and the
function in `tacit.records.payload_parts` that makes it from what the nodes sent.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tacit.agreement.plan_parts import PlanHeads
from tacit.wire.attempt import Attempt

Parts = list[list[tuple[int, list[bytes]]]]
"""Per node, the substreams that it sent to the platform, each with its number and frames."""


class Kind(StrEnum):
    """The kinds of disclosures, by which payloads are tagged."""

    LABELS = "labels"
    BEST = "best"
    FRONT = "front"
    PROVED = "proved"
    PLAN = "plan"
    OWNERS_PLAN = "plan for owners"

    @property
    def opens_plan(self) -> bool:
        """Whether it opens the plan of a sealed search, of which each node sends shares."""
        return self in (Kind.PLAN, Kind.OWNERS_PLAN)

    @property
    def is_final(self) -> bool:
        """Whether it is disclosed once per objective or search, however often it is sent."""
        return self not in (Kind.LABELS, Kind.PROVED)


class _Payload(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    """The base of all payloads, which gives them a tag."""

    @property
    def kind(self) -> Kind:
        """The kind of disclosure."""
        return Kind(str(self.__struct_config__.tag))


class DisclosedLabels(_Payload, frozen=True, tag="labels"):
    """What one evaluation disclosed of its candidates."""

    labels: list[int]
    best: int | bool | None = None
    """The best fitness, or whether it improved, as agreed."""


class DisclosedBest(_Payload, frozen=True, tag="best"):
    """Which candidate of the final reveal is truly best."""

    candidates: int
    index: int


class DisclosedFront(_Payload, frozen=True, tag="front"):
    """Which candidates of the final reveal are non-dominated, and their values if agreed."""

    candidates: int
    nondominated: list[int]
    values: list[list[int]] | None = None
    """Of each of them, its fitness in every objective."""


class DisclosedProof(_Payload, frozen=True, tag="proved"):
    """Whether all plans of a group are proved after a step, where it is agreed to open that."""

    finished: bool


class DisclosedPlan(_Payload, frozen=True, tag="plan"):
    """The plan of a sealed search."""

    plan: list[int]
    value: int | None = None
    """Where that was agreed."""
    outcome: str | None = None
    """What is proved of it, if it is of an assignment: `optimum` or `feasible`."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where that was agreed."""


class DisclosedToOwners(_Payload, frozen=True, tag="plan for owners"):
    """That a plan was opened to its owners; nothing of the plan itself."""

    heads: list[PlanHeads | None]
    """Per node, what binds it to its parts and boxes; none of a node that was away."""
    value: int | None = None
    """Where that was agreed."""
    outcome: str | None = None
    """What is proved of it, if it is of an assignment: `optimum` or `feasible`."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where that was agreed."""


Payload = (
    DisclosedLabels
    | DisclosedBest
    | DisclosedFront
    | DisclosedProof
    | DisclosedPlan
    | DisclosedToOwners
)


class Disclosed(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="entry",
    tag="disclosed",
):
    """An entry of the ledger: what was disclosed, and what the nodes sent for it."""

    about: int
    """The number of the objective or of the sealed search."""
    attempt: Attempt
    """The computation that disclosed it; of a plan, the one that left it."""
    request: str
    """The hash of the request, as the nodes log it."""
    payload: Payload
    parts: Parts
    again: bool = False
    """The same once more, since a node failed before it had logged the first."""
    without: int | None = None
    """The node that the others went on without: computed by three, not checked."""
    unchecked: bool = False
    """Computed by all, from a state that three had left: not checked all the way."""

    @property
    def kind(self) -> Kind:
        """The kind of disclosure."""
        return self.payload.kind

    @property
    def number(self) -> int:
        """The number of the evaluation or step."""
        return self.attempt.number

    @property
    def words(self) -> str:
        """What it is about, in words."""
        return in_words(self.kind, self.about, self.number)


def in_words(kind: Kind, about: int, number: int, /) -> str:
    """Name a disclosure in a sentence.

    >>> in_words(Kind.LABELS, 0, 7), in_words(Kind.PLAN, 2, 40)
    ('evaluation 7', 'the plan of search 2')
    """
    match kind:
        case Kind.LABELS:
            return f"evaluation {number}"
        case Kind.BEST:
            return "the final reveal of the best plan"
        case Kind.FRONT:
            return "the final reveal of the front"
        case Kind.PROVED:
            return f"step {number} of search {about}"
        case Kind.PLAN | Kind.OWNERS_PLAN:
            return f"the plan of search {about}"


class HeardBoxes(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="boxes"
):
    """What nodes were bound to when this one released its boxes with a plan for owners."""

    boxes: list[str]
    """Per node the hash of the list of its boxes; empty where it was not heard."""
