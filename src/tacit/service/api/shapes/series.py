"""Series of runs, as the API shows them; `series_terms.py` has what they are made of."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from tacit.service.api.series_terms import SeriesTerms
from tacit.service.workflow.lifecycle import State


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
