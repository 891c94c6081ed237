"""The terms of runs and series, which operators send and everybody reads.

The platform validates what comes in against these types (`read_request`), stores it, and answers
with the same types; the dashboard and the commands fill them in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from tacit.errors import ParameterError
from tacit.names import check_label, checked_name, first_look_alikes
from tacit.plain_text import decoders_words

T = TypeVar("T")

MOST_CELLS = 4_000_000
"""Rows times columns; beyond that boxes would not fit any request."""
MOST_DEADLINE_SECONDS = 7 * 24 * 3600.0
UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
)
"""Control characters, and those that take no width or turn the direction of text around."""

Label = Annotated[str, Meta(min_length=1, max_length=200, pattern=rf"^[^{UNSEEN}]+\Z")]
ShortName = Annotated[str, Meta(max_length=40)]
MOST_ROWS = 1 << 16
Index = Annotated[int, Meta(ge=0, lt=MOST_ROWS)]
Size = Annotated[int, Meta(ge=1, lt=MOST_ROWS)]
Names = Annotated[list[Label], Meta(max_length=MOST_ROWS)]
Pair = tuple[Index, Index]
Point = tuple[float, float]
Datum = Annotated[int, Meta(ge=0, le=10**9)]
Weighting = Annotated[str, Meta(pattern=r"^[0-9]{1,7}(:[0-9]{1,7}){0,9}\Z")]
Weight = Annotated[int, Meta(ge=0, le=2**48)]
Bound = Annotated[int, Meta(ge=1, le=2**48)]
Whole = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Owners = Annotated[
    dict[str, Annotated[list[Index], Meta(min_length=1, max_length=MOST_ROWS)]],
    Meta(min_length=1, max_length=1000),
]
"""The rows of each participant, by name; who owns none takes no part."""
Reference = Annotated[list[Index], Meta(max_length=MOST_ROWS)]
"""The column of each row under the plan that savings are counted from."""
TimeOfDay = Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]\Z")]

Sense = Literal["maximize", "minimize"]
Best = Literal["value", "improvement", "nothing"]
Part = Literal["rows", "columns", "forbidden", "data"]
USUALLY_VARY: tuple[Part, ...] = ("rows", "columns", "forbidden")


def _names_of(owners: dict[str, list[int]]) -> dict[str, list[int]]:
    checked = {checked_name(name): rows for name, rows in owners.items()}
    # Two spellings of one name would otherwise leave the rows of one of them to nobody.
    if len(checked) < len(owners):
        raise ValueError("two participants share a name; name them apart")
    _check_apart("participants", checked)
    return checked


def _check_apart(what: str, names: Iterable[str]) -> None:
    if (alike := first_look_alikes(names)) is not None:
        raise ValueError(f"two {what} look alike, {alike[0]!a} and {alike[1]!a}; name them apart")


class ProblemTerms(Struct, frozen=True, kw_only=True):
    """The public part of a problem."""

    name: Label
    kind: Label
    rows: Size
    columns: Size
    row_names: Names | None = None
    column_names: Names | None = None
    forbidden: Annotated[list[Pair], Meta(max_length=MOST_CELLS)] = []
    """Pairs of a row and a column that it may not take."""
    symmetric: bool | None = None
    """Whether ways between places cost the same in both directions; left out, they count so."""
    coordinates: list[Point] | None = None
    """Where the places lie, for a map alone."""
    version: Annotated[int, Meta(ge=1, le=10**6)] = 1
    """Of the kind."""
    data: Annotated[dict[Label, Datum | list[Datum]], Meta(max_length=16)] = {}
    """What the kind knows besides, such as capacities."""

    def __post_init__(self) -> None:
        check_label(self.name)
        if self.rows * self.columns > MOST_CELLS:
            raise ValueError(f"rows times columns exceed {MOST_CELLS}; make the problem smaller")
        if self.coordinates is not None and len(self.coordinates) != self.rows:
            raise ValueError("give coordinates for every row or for none")


class RunObjective(Struct, frozen=True, kw_only=True):
    """One objective; bound and weights are whole numbers, in the users' unit times `scale`."""

    name: Label
    sense: Sense
    scale: Annotated[int, Meta(ge=1, le=10**9)] = 1
    weight_bound: Bound
    disclosure: ShortName = "sealed"
    best: Best = "nothing"
    """What is disclosed of the best value."""
    confidential: bool = True
    weights: list[list[Weight]] | None = None
    """Of a public objective: row by row. Answers leave them out; they have an address of their
    own."""

    def __post_init__(self) -> None:
        """Keep confidential weights out of the terms."""
        check_label(self.name)
        if self.confidential and self.weights is not None:
            raise ValueError("its weights are its owners' and come sealed; leave them out")


class LimitTerms(Struct, frozen=True, kw_only=True):
    """Limits that the nodes enforce."""

    evaluations: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    """Of a sealed run: its steps, at most. Left out, as many as fit into the deadline."""
    expiry_hours: Annotated[float, Meta(gt=0, le=24 * 365)] = 168.0
    """Counted from the drafting of the agreement; from then on nodes refuse."""
    distinct_min: Annotated[int, Meta(ge=1, le=100_000)] = 1


class Rules(Struct, frozen=True, kw_only=True):
    """Search, deadline and disclosures of a run, besides those of its objectives."""

    preset: ShortName | None = None
    """A set of parameters; left out, the one that fits the problem."""
    parameters: Annotated[dict[ShortName, bool | Whole | Label], Meta(max_length=100)] = {}
    """Single parameters that differ from the preset."""
    weightings: Annotated[list[Weighting], Meta(max_length=128)] = []
    """Of a sealed search of several objectives, the factors of one plan each, such as 3:1."""
    limits: LimitTerms = LimitTerms()
    deadline_seconds: Annotated[float, Meta(gt=0, le=MOST_DEADLINE_SECONDS)]
    """Counted from `running`."""
    reveal_best: bool = False
    front: Literal["nothing", "plans", "values"] = "nothing"
    """Of objectives that are evaluated together, what is revealed at the end: which plans of the
    last set are non-dominated, with `values` also what each of these is worth."""
    on_loss: Literal["wait", "three"] = "wait"
    """With four nodes: whether the others continue after a loss, unchecked from then on."""
    grace_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    """So long a node must give no sign of life before they do. Below 10 s a live node may be taken
    for a lost one, and `review` says so."""
    plan: Literal["everybody", "owners"] = "everybody"
    """Of a sealed search: who learns the plan. With `owners` each its own rows, the platform none
    of it."""


class RunTerms(Rules, frozen=True, kw_only=True):
    """A draft of a run: its problem, who owns which rows, and its rules."""

    name: Label
    problem: ProblemTerms
    objectives: Annotated[list[RunObjective], Meta(min_length=1, max_length=10)]
    participants: Owners
    reference: Reference | None = None
    """In a series with equity whose runs give one."""

    def __post_init__(self) -> None:
        check_label(self.name)
        msgspec.structs.force_setattr(self, "participants", _names_of(self.participants))
        _check_apart("objectives", [each.name for each in self.objectives])
        public = (row for each in self.objectives for row in each.weights or ())
        if sum(map(len, public)) > MOST_CELLS:
            raise ValueError(f"public weights exceed {MOST_CELLS} in all; make the problem smaller")

    @property
    def confidential(self) -> list[RunObjective]:
        return [each for each in self.objectives if each.confidential]

    def without_weights(self) -> RunTerms:
        """As answers show them again and again: large matrices have an address of their own."""
        if all(each.weights is None for each in self.objectives):
            return self
        shown = [msgspec.structs.replace(each, weights=None) for each in self.objectives]
        return msgspec.structs.replace(self, objectives=shown)


class VaryingTerms(Struct, frozen=True, kw_only=True):
    """The parts of runs that may vary, and how far; sizes left out follow from the pattern."""

    parts: list[Part] = msgspec.field(default_factory=lambda: list(USUALLY_VARY))
    least_rows: Size | None = None
    """Left out: half of the pattern's, or all if rows do not vary."""
    most_rows: Size | None = None
    """Left out: twice the pattern's."""
    least_columns: Size | None = None
    most_columns: Size | None = None
    least_allowed: Size | None = None
    """Columns that every row may take; left out: half of them, or as many as in the pattern where
    these are fewer."""
    most_mask_changes: Annotated[int, Meta(ge=0, lt=1 << 16)] | None = None
    """Pairs of each row that may be forbidden otherwise than in the pattern; left out: a sixteenth
    of the columns."""
    least_each: Size = 1
    """Rows of every participant of a run."""
    least_participants: Size | None = None
    """Left out: all of them."""


class ScheduleTerms(Struct, frozen=True, kw_only=True):
    """A schedule of runs: every so many minutes, or at times of day (UTC)."""

    every_minutes: Annotated[int, Meta(ge=1, le=7 * 1440)] | None = None
    at: Annotated[list[TimeOfDay], Meta(max_length=288)] = []

    def __post_init__(self) -> None:
        if (self.every_minutes is None) == (not self.at):
            raise ValueError("give every_minutes, or times of day, and not both")


class EquitySettings(Struct, frozen=True, kw_only=True):
    """Long-term equity; what is left out is as docs/equity.md has it."""

    levels: Annotated[int, Meta(ge=1, le=15)] = 4
    decay: Annotated[int, Meta(ge=0, le=1000)] = 980
    """In thousandths."""
    spacing: Annotated[int, Meta(ge=1, le=1 << 14)] = 32
    """In 128ths of a saved share."""
    reference: Literal["first come", "given"] = "first come"
    told: Literal["nothing", "level", "balance"] = "level"
    """What is disclosed to each participant of itself."""
    every: Annotated[int, Meta(ge=1, le=1000)] = 8
    """In every so many-th run that counts."""
    mean: bool = False
    """Whether the mean of the saved shares is disclosed to all then."""
    spread: bool = False
    """Whether it is disclosed to all then how far apart balances are."""


class SeriesTerms(Struct, frozen=True, kw_only=True):
    """A series to be signed."""

    name: Label
    run: RunTerms
    """The pattern: a run if nothing varies. Its deadline and evaluations hold for every run."""
    varying: VaryingTerms = msgspec.field(default_factory=VaryingTerms)
    runs_per_day: Annotated[int, Meta(ge=1, le=1440)] = 1
    run_hours: Annotated[float, Meta(gt=0, le=168)] = 24.0
    """So long the agreement of a run is valid."""
    days: Annotated[float, Meta(gt=0, le=365)] = 90.0
    """So long the series stands, from when it is drawn up."""
    schedule: ScheduleTerms | None = None
    equity: EquitySettings | None = None
    """Left out: every run is for itself."""
    cluster: Label | None = None
    """The cluster in service.toml whose nodes compute; left out: the least busy one."""

    def __post_init__(self) -> None:
        check_label(self.name)


class NextRun(Struct, frozen=True, kw_only=True):
    """Changes in a run of a series; what is left out is copied from the last one."""

    name: Label | None = None
    problem: ProblemTerms | None = None
    participants: Owners | None = None
    reference: Reference | None = None
    """The reference plan, where each run gives one."""
    start: bool = True
    """If not, it stays a draft until the schedule's next time."""

    def __post_init__(self) -> None:
        if self.name is not None:
            check_label(self.name)
        if self.participants is not None:
            msgspec.structs.force_setattr(self, "participants", _names_of(self.participants))


def read_request(content: bytes, kind: type[T], /) -> T:
    """Decode a request of this kind, and refuse fields that the kind does not know.

    A misspelt field would otherwise be dropped, and something else be agreed on than was meant.

    >>> read_request(b'{"expiry_hours": 2}', LimitTerms).expiry_hours
    2.0
    >>> read_request(b'{"expiry": 2}', LimitTerms)
    Traceback (most recent call last):
    msgspec.ValidationError: Object contains unknown field `expiry`
    """
    known: Any = kind
    msgspec.json.decode(content, type=_strict(known))
    # A strict record is of a subclass, which would equal no record that was stored.
    return msgspec.json.decode(content, type=kind)


@cache
def _strict(kind: Any, /) -> Any:  # noqa: ANN401 - a type
    """Return a type of the same records, at any depth, that knows no other fields.

    The records themselves have no `forbid_unknown_fields`: clients decode answers with them, and an
    answer may have more than an older client knows. The first unknown field ends the decoding,
    before anything is built of what it holds.
    """
    origin, within = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[_strict(within[0]), *kind.__metadata__]
    if origin in (list, dict, tuple):
        return origin[tuple(map(_strict, within))]
    if origin in (Union, UnionType):
        return reduce(or_, map(_strict, within))
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return kind
    fields: list[Any] = [
        (field.name, _strict(field.type), _default_of(field))
        for field in msgspec.structs.fields(kind)
        if _strict(field.type) != field.type
    ]
    config = kind.__struct_config__
    return msgspec.defstruct(
        kind.__name__,
        fields,
        bases=(kind,),
        module=kind.__module__,
        frozen=config.frozen,
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _default_of(field: msgspec.structs.FieldInfo) -> Any:  # noqa: ANN401 - of any type
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field() if field.required else field.default


def checked(record: T, /) -> T:
    """A record that was filled in by a program, validated as if it had been sent.

    >>> checked(LimitTerms(expiry_hours=-1))
    Traceback (most recent call last):
    tacit.errors.ParameterError: at expiry_hours: expected a number > 0.0
    """
    return converted(msgspec.to_builtins(record), type(record))


def converted(found: Any, kind: type[T], /, *, strict: bool = True) -> T:  # noqa: ANN401 - as JSON has it
    try:
        return msgspec.convert(found, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise ParameterError(plain_trouble(error)) from None


def plain_trouble(error: msgspec.ValidationError, /) -> str:
    """Say what is wrong without repeating what was sent, which may be a secret.

    >>> plain_trouble(msgspec.ValidationError("Invalid enum value 'x' - at `$.best`"))
    'at best: it is not one of its values'
    """
    text = re.sub(
        r"(?s)Invalid enum value .*?( - at |\Z)", r"it is not one of its values\1", f"{error}"
    )
    text = re.sub(r"matching regex '.*?'( - at |\Z)", r"with other characters\1", text)
    return decoders_words(text)
