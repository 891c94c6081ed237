"""The result of a run, as an object and as JSON.

Everything but `timing` is a function of the problem, the settings and the seed, and compares byte
for byte. Values are in the user's own unit: unscaled, costs positive.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from tacit.errors import FileError
from tacit.files import other_version, read_bytes, writing
from tacit.plain_text import decoders_words

FORMAT: Literal["tacit-result/1"] = "tacit-result/1"


class ProblemSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which problem was solved."""

    name: str
    kind: str
    rows: int
    columns: int


class ObjectiveSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was known of one objective."""

    name: str
    sense: str
    confidential: bool
    disclosure: str
    best: str
    scale: int


class PlanSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of plans, the generation it comes from, and what it is worth."""

    generation: int
    disclosed: list[float | bool | None] = msgspec.field(name="told")
    """What each objective disclosed of its best fitness then."""
    plans: list[list[int]]
    actual: list[list[float]] | None
    """The actual value of each plan per objective, where the caller may know it."""


class FrontSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the final reveal told: which plans of the best-known set are non-dominated."""

    nondominated: list[int]
    """Their places in it; of plans with the same values the first."""
    values: list[list[float]] | None
    """Of each of them its value per objective, if that was agreed."""


class History(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry per generation in every list."""

    generation: list[int]
    disclosed_best: list[list[float | bool | None]] = msgspec.field(name="told_best")
    estimate: list[float | None]
    set_size: list[int]
    actual_mean: list[list[float]] | None
    actual_best: list[list[float]] | None


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs from machine to machine."""

    seconds: float
    """From the start of the run to its end."""
    set_up_seconds: float
    """Compiling and preparing, before the start."""
    generation_seconds: list[float]
    """When each generation was done."""


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What `solve` returns.

    `plan` is the one to use: plan[r] is the column of row r, or the tour. It is the first of the
    best-known set, or the best one of it if that was to be revealed; `estimated_best` is the
    paper's result, the estimated-best set of the last generation.
    """

    format: Literal["tacit-result/1"]
    problem: ProblemSummary
    objectives: list[ObjectiveSummary]
    engine: str
    algorithm: str
    parameters: dict[str, Any]
    seed: int
    stopped: str
    generations: int
    evaluations: int
    plan: list[int]
    named_plan: list[tuple[str, str]] | None
    """The plan in the problem's own names, where it has them: who gets what, or the legs."""
    value: list[float] | None
    """The actual value of the plan per objective, where the caller may know it."""
    optimum: float | None
    percent_of_optimum: float | None
    best_known: PlanSet
    estimated_best: PlanSet
    history: History
    timing: Timing | None
    notes: list[str] = []
    """What went wrong on the way, such as a node that was lost."""
    proved: bool | None = None
    """Whether the plan is proved to be the optimum, where the exact solver was asked for it."""
    gaps: list[float] | None = None
    """By at most how much each plan is worse than the optimum, where that was agreed on."""
    front: FrontSummary | None = None
    """What was revealed at the end of several objectives, if that was agreed."""
    nodes: int = 0
    """How many nodes computed it, which decides what they promise; 0 where none did."""

    def to_json(self, *, timing: bool = True) -> bytes:
        """As JSON; without timing it is the same on every machine."""
        shown = self if timing else msgspec.structs.replace(self, timing=None)
        return msgspec.json.encode(shown)

    def save(self, path: str | Path, /) -> None:
        """Write the result to a file."""
        with writing(path):
            Path(path).write_bytes(self.to_json() + b"\n")


_READ = msgspec.json.Decoder(Result)


def load_result(path: str | Path, /) -> Result:
    """Read a result back from its file."""
    data = read_bytes(path)
    try:
        return _READ.decode(data)
    except msgspec.DecodeError as error:
        what = other_version(data, FORMAT) or f"is not a result ({decoders_words(error)})"
        raise FileError(path, None, what, "give a file of tacit solve") from None
