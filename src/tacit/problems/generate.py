"""Draw random problems by the name of what is drawn, for commands, drafts and studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tacit.disclosure import Disclosure, Unsaid
from tacit.errors import ParameterError
from tacit.problems.delays import generate_delays
from tacit.problems.generators import (
    FAMILIES,
    Seed,
    generate_assignment,
    generate_capacitated,
    generate_family,
    generate_routing,
    generate_tour,
)
from tacit.problems.objective import Sense
from tacit.problems.problem import Problem

Drawn = Literal[
    "ap", "moap", "tour", "delays", "capacitated", "routing",
    "effects", "low-rank", "rank-one", "euclidean", "slots", "sparse", "ties",
]  # fmt: skip
StudyKind = Literal[
    "assignment", "tour", "capacitated", "routing", "delays",
    "effects", "low-rank", "rank-one", "euclidean", "slots", "sparse", "ties",
]  # fmt: skip


def generate_named(
    name: str,
    seed: Seed,
    /,
    *,
    rows: int,
    columns: int | None = None,
    up_to: int = 1000,
    sense: Sense = "maximize",
    participants: int = 1,
    objectives: int = 1,
    disclosures: Sequence[Disclosure] = (Unsaid(),),
    number: int = 1,
) -> Problem:
    """Draw one of `delays`, `ap`, `moap`, `tour`, `capacitated`, `routing`, or of `FAMILIES`.

    Only `ap` and `moap`, which are the same, may have several objectives.

    `columns` are the vehicles of `routing`; left out, `capacitated` and `routing` have one for ten
    rows, and at least two.

    >>> generate_named("routing", 1, rows=30).name
    'routing1K30v3'
    """
    rest: dict[str, Any] = {"disclosure": disclosures[0], "number": number}
    groups = max(2, rows // 10) if columns is None else columns
    match name:
        case "delays":
            return generate_delays(seed, flights=rows, slots=columns, airlines=participants, **rest)
        case "tour" | "tsp":
            if name == "tour" and columns not in (None, rows):
                raise ParameterError(f"a tour is not {rows}x{columns}; give one number, the cities")
            return generate_tour(seed, cities=rows, side=up_to, participants=participants, **rest)
        case "routing":
            return generate_routing(
                seed, places=rows, vehicles=groups, side=up_to, participants=participants, **rest
            )
    if name in FAMILIES:
        shared: dict[str, Any] = {"columns": columns, "up_to": up_to, "participants": participants}
        return generate_family(name, seed, rows=rows, **shared, **rest)
    drawn: dict[str, Any] = {"rows": rows, "weights_up_to": up_to, "sense": sense}
    drawn |= {"participants": participants, "number": number}
    match name:
        case "ap" | "moap" | "assignment":
            drawn |= {"objectives": objectives, "disclosures": disclosures}
            return generate_assignment(seed, columns=columns, **drawn)
        case "capacitated":
            return generate_capacitated(seed, columns=groups, disclosure=disclosures[0], **drawn)
    raise ParameterError(
        f"{name!r} cannot be drawn; use ap, tour, delays, capacitated, routing "
        f"or a family of costs: {', '.join(FAMILIES)}"
    )
