"""What a series is made of: a run as its pattern, what may vary, how often, and for how long."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from tacit.equity import EquityTerms
from tacit.service.api.terms import Index, Label, ParticipantName, ProblemTerms, RunTerms, Taken

TimeOfDay = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Part = Literal["rows", "columns", "forbidden", "data"]
USUALLY_VARY: tuple[Part, ...] = ("rows", "columns", "forbidden")
Size = Annotated[int, Field(ge=1, lt=1 << 16)]


class VaryingTerms(Taken):
    """What may vary and how far; sizes that are left out follow from the pattern."""

    parts: list[Part] = Field(default_factory=lambda: list(USUALLY_VARY))
    least_rows: Size | None = None
    """Left out: half of the pattern's, or all if rows do not vary."""
    most_rows: Size | None = None
    """Left out: twice the pattern's."""
    least_columns: Size | None = None
    most_columns: Size | None = None
    least_allowed: Size = 1
    """Columns that every row may take."""
    least_each: Size = 1
    """Rows of every participant of a run."""
    least_participants: Size | None = None
    """Left out: all of them."""


class ScheduleTerms(Taken):
    """When runs start by themselves: every so many minutes, or at times of day (UTC)."""

    every_minutes: Annotated[int, Field(ge=1, le=7 * 1440)] | None = None
    at: list[TimeOfDay] = Field(default_factory=list, max_length=288)

    @model_validator(mode="after")
    def _one_of_them(self) -> ScheduleTerms:
        if (self.every_minutes is None) == (not self.at):
            raise ValueError("give every_minutes, or times of day, and not both")
        return self


class EquitySettings(Taken):
    """Long-term equity; what is left out is as docs/equity.md has it."""

    levels: Annotated[int, Field(ge=1, le=15)] = 4
    decay: Annotated[int, Field(ge=0, le=1000)] = 980
    """In thousandths."""
    spacing: Annotated[int, Field(ge=1, le=1 << 14)] = 32
    """In 128ths of a saved share."""
    reference: Literal["first come", "given"] = "first come"
    told: Literal["nothing", "level", "balance"] = "level"
    """What each participant is told of itself."""
    every: Annotated[int, Field(ge=1, le=1000)] = 8
    """In every so many-th run that counts."""
    mean: bool = False
    """Whether all are told the mean of the saved shares then."""
    spread: bool = False
    """Whether all are told then how far apart balances are."""

    def as_signed(self) -> EquityTerms:
        """As the series has it."""
        return EquityTerms(**self.model_dump())


class SeriesTerms(Taken):
    """A series to be signed."""

    name: Label
    run: RunTerms
    """The pattern: a run if nothing varies. Its deadline and evaluations hold for every run."""
    varying: VaryingTerms = VaryingTerms()
    runs_per_day: Annotated[int, Field(ge=1, le=1440)] = 1
    run_hours: Annotated[float, Field(gt=0, le=168)] = 24.0
    """So long the agreement of a run is valid."""
    days: Annotated[float, Field(gt=0, le=365)] = 90.0
    """So long the series stands, from when it is drawn up."""
    schedule: ScheduleTerms | None = None
    equity: EquitySettings | None = None
    """Left out: every run is for itself."""
    cluster: Label | None = None
    """The cluster in service.toml whose nodes compute; left out: the least busy one."""


class NextRun(Taken):
    """What is different in a run of a series; what is left out is copied from the last one."""

    name: Label | None = None
    problem: ProblemTerms | None = None
    participants: (
        Annotated[
            dict[ParticipantName, Annotated[list[Index], Field(min_length=1)]],
            Field(min_length=1, max_length=1000),
        ]
        | None
    ) = None
    reference: Annotated[list[Index], Field(max_length=1 << 16)] | None = None
    """The reference plan, where each run gives one."""
    start: bool = True
    """If not, it stays a draft until the schedule's next time."""
