"""What a run is made of: the public problem, who owns which rows, and the rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from tacit.errors import ParameterError
from tacit.problems import Objective, Problem, PublicProblem, kind_named, public_problem

MOST_CELLS = 4_000_000
"""Rows times columns; beyond that boxes would not fit any request."""
MOST_DEADLINE_SECONDS = 7 * 24 * 3600.0

Label = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
NAME_PATTERN = r"^[^\W_][\w.-]{0,62}$"
"""Letters and digits of any script, dots, dashes and underscores."""


def one_form(name: object, /) -> object:
    """A name as it is kept: letters with marks have one form (NFC), however they were typed.

    >>> one_form("ce\u0301leste") == "c\u00e9leste"
    True
    """
    return unicodedata.normalize("NFC", name) if isinstance(name, str) else name


ParticipantName = Annotated[str, StringConstraints(pattern=NAME_PATTERN), BeforeValidator(one_form)]
Index = Annotated[int, Field(ge=0, lt=1 << 16)]
Pair = Annotated[list[Index], Field(min_length=2, max_length=2)]
Point = Annotated[list[float], Field(min_length=2, max_length=2)]
Datum = Annotated[int, Field(ge=0, le=10**9)]
Weighting = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,7}(:[0-9]{1,7}){0,9}$")]
Weight = Annotated[int, Field(ge=0, le=2**48)]
Whole = Annotated[int, Field(ge=-(2**53), le=2**53)]


class Taken(BaseModel):
    """Something a client sends: strict, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ProblemTerms(Taken):
    """What everybody may know of the problem."""

    name: Label
    kind: Label
    rows: Annotated[int, Field(ge=1, lt=1 << 16)]
    columns: Annotated[int, Field(ge=1, lt=1 << 16)]
    row_names: list[Label] | None = None
    column_names: list[Label] | None = None
    forbidden: list[Pair] = []
    """Pairs of a row and a column that it may not take."""
    symmetric: bool | None = None
    """Whether ways between places cost the same in both directions; left out, they count so."""
    coordinates: list[Point] | None = None
    """Where the places lie, for a map alone."""
    version: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Of the kind."""
    data: dict[Label, Datum | list[Datum]] = {}
    """What the kind knows besides, such as capacities."""

    @model_validator(mode="after")
    def _fits(self) -> ProblemTerms:
        if self.rows * self.columns > MOST_CELLS:
            raise ValueError(f"rows times columns exceed {MOST_CELLS}; make the problem smaller")
        if self.coordinates is not None and len(self.coordinates) != self.rows:
            raise ValueError("give coordinates for every row or for none")
        return self


def draft_of_problem(
    problem: Problem, owners: Mapping[str, Sequence[int]], /, **disclosed: str
) -> dict[str, Any]:
    """What a draft says of a problem and its owners: of its weights, the public ones.

    `disclosed` is the `disclosure` and, if it is not the usual one, the `best` of each objective.
    """
    public: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(public_problem(problem)))
    if not problem.between_places:
        del public["symmetric"]
    if problem.coordinates is not None:
        public["coordinates"] = problem.coordinates.tolist()
    objectives = [
        {
            "name": each.name,
            "sense": each.sense,
            "scale": each.scale,
            "weight_bound": each.weight_bound,
            **(disclosed if each.confidential else _public_terms(each)),
        }
        for each in problem.objectives
    ]
    participants = {name: list(rows) for name, rows in owners.items()}
    return {"problem": public, "objectives": objectives, "participants": participants}


def _public_terms(objective: Objective) -> dict[str, Any]:
    if objective.weights is None:
        raise ParameterError(
            f"the objective {objective.name!r} is public and its weights are not here; give them"
        )
    weights = objective.weights.tolist()
    return {"confidential": False, "disclosure": "none", "best": "value", "weights": weights}


def public_of_terms(problem: Mapping[str, Any], /) -> PublicProblem:
    """The public problem of a draft, of which fields may be missing."""
    given = {k: v for k, v in problem.items() if v is not None and k != "coordinates"}
    ways = kind_named(given["kind"], given.get("version", 1)).between_places
    return msgspec.convert({"name": "", "symmetric": ways, **given}, PublicProblem)


class ObjectiveTermsIn(Taken):
    """One objective; bound and weights are whole numbers, in the users' unit times `scale`."""

    name: Label
    sense: Literal["maximize", "minimize"]
    scale: Annotated[int, Field(ge=1, le=10**9)] = 1
    weight_bound: Annotated[int, Field(ge=0, le=2**48)]
    disclosure: Annotated[str, StringConstraints(max_length=40)] = "sealed"
    best: Literal["value", "improvement", "nothing"] = "nothing"
    """What is disclosed of the best value."""
    confidential: bool = True
    weights: list[list[Weight]] | None = None
    """Of a public objective: row by row. Answers leave them out; they have an address of their
    own."""

    @model_validator(mode="after")
    def _weights_are_public(self) -> ObjectiveTermsIn:
        if self.confidential and self.weights is not None:
            raise ValueError("its weights are its owners' and come sealed; leave them out")
        return self


class LimitTerms(Taken):
    """What the nodes allow at most, or at least."""

    evaluations: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Of a sealed run: its steps, at most. Left out, as many as fit into the deadline."""
    expiry_hours: Annotated[float, Field(gt=0, le=24 * 365)] = 168.0
    """Counted from the drafting of the agreement; from then on nodes refuse."""
    distinct_min: Annotated[int, Field(ge=1, le=100_000)] = 1


class RunTerms(Taken):
    """A draft of a run."""

    name: Label
    problem: ProblemTerms
    objectives: Annotated[list[ObjectiveTermsIn], Field(min_length=1, max_length=10)]
    participants: Annotated[
        dict[ParticipantName, Annotated[list[Index], Field(min_length=1)]],
        Field(min_length=1, max_length=1000),
    ]
    """The rows of each participant, by name; who owns none takes no part."""
    preset: Annotated[str, StringConstraints(max_length=40)] | None = None
    """A set of parameters; left out, the one that fits the problem."""
    parameters: dict[Annotated[str, StringConstraints(max_length=40)], bool | Whole | Label] = {}
    """Single parameters that differ from the preset."""
    weightings: Annotated[list[Weighting], Field(max_length=128)] = []
    """Of a sealed search of several objectives, the factors of one plan each, such as 3:1."""
    limits: LimitTerms = LimitTerms()
    deadline_seconds: Annotated[float, Field(gt=0, le=MOST_DEADLINE_SECONDS)]
    """Counted from `running`."""
    reveal_best: bool = False
    front: Literal["nothing", "plans", "values"] = "nothing"
    """Of objectives that are evaluated together, what is revealed at the end: which plans of the
    last set are non-dominated, with `values` also what each of these is worth."""
    on_loss: Literal["wait", "three"] = "wait"
    """With four nodes: whether the others go on where one is lost, unchecked from then on."""
    plan: Literal["everybody", "owners"] = "everybody"
    """Of a sealed search: who learns the plan. With `owners` each its own rows, the platform none
    of it."""
    reference: Annotated[list[Index], Field(max_length=1 << 16)] | None = None
    """The column of each row under the plan that savings are counted from, in a series with equity
    whose runs give one."""
