"""Problems drawn from a seed, as drafts. Weights stay out: participants draw them by themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tacit.disclosure import parse_disclosure
from tacit.problems import generate_named
from tacit.service.api.terms import ParticipantName, RunTerms, Taken, draft_of_problem

MOST_ROWS = 300


class Generate(Taken):
    """What to draw: airline delays, or a problem of a kind."""

    kind: Literal["delays", "ap", "tsp", "capacitated", "routing"]
    rows: Annotated[int, Field(ge=2, le=MOST_ROWS)] = 20
    columns: Annotated[int, Field(ge=2, le=2 * MOST_ROWS)] | None = None
    """Of a routing problem: its vehicles."""
    participants: Annotated[list[ParticipantName], Field(min_length=1, max_length=50)] | None = None
    """Their names; left out, three of our choice."""
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 1
    weights_up_to: Annotated[int, Field(ge=1, le=10**6)] = 1000
    disclosure: Annotated[str, StringConstraints(max_length=40)] = "top:15"
    deadline_seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0


def generated_terms(asked: Generate, /) -> RunTerms:
    """The draft."""
    problem = generate_named(
        asked.kind,
        asked.seed,
        rows=asked.rows,
        columns=asked.columns,
        up_to=asked.weights_up_to,
        sense="minimize",
        participants=3 if asked.participants is None else len(set(asked.participants)),
        disclosures=(parse_disclosure(asked.disclosure),),
    )
    names = asked.participants or [each.name.replace(" ", "-") for each in problem.participants]
    names = list(dict.fromkeys(names))
    owners = dict(zip(names, (each.rows for each in problem.participants), strict=True))
    draft = draft_of_problem(problem, owners, disclosure=asked.disclosure)
    return RunTerms.model_validate(
        {**draft, "name": problem.name, "deadline_seconds": asked.deadline_seconds}
    )
