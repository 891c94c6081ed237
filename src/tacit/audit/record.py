"""A recorded run: the platform's whole view of it, in one compact file.

Candidates, what was disclosed of each and of the best, evaluation by evaluation; no weights. The
file is a line that names the format, the SHA-256 of the rest, and the rest as MessagePack with the
large arrays deflated.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED, parse_disclosure
from tacit.errors import FileError, InputError
from tacit.files import other_version, read_bytes, writing
from tacit.problems import MOST_PAIRS, Objective, Problem, PublicProblem, problem_without_weights


def first_columns(forbidden: Iterable[Sequence[int]], rows: int, /) -> list[int] | None:
    """The first allowed column of each row, if the columns before it tell of a schedule.

    Columns are slots in time, and no row can have one before its own. That is so if at least half
    of the rows have such a beginning, and not all of them the same. Single slots that are closed
    later on do not change it.

    >>> first_columns([(1, 0), (2, 0), (2, 1), (0, 2)], 3), first_columns([(1, 0)], 3)
    ([0, 1, 2], None)
    """
    by_row: dict[int, set[int]] = {}
    for row, column in forbidden:
        by_row.setdefault(row, set()).add(column)
    first = [_beginning(by_row.get(row, set())) for row in range(rows)]
    late = sum(each > 0 for each in first)
    return first if 2 * late >= rows and len(set(first)) > 1 else None


def _beginning(columns: set[int]) -> int:
    """How many columns from the first one on are forbidden."""
    count = 0
    while count in columns:
        count += 1
    return count


FORMAT = "tacit-record/1"
MAGIC = f"{FORMAT}\n".encode()
DIGEST_BYTES = 32
LARGEST_SIDE = 2**16
"""Columns are kept in 16 bits."""


class RecordedProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The public part of the problem."""

    name: str
    kind: str
    rows: int
    columns: int
    symmetric: bool
    """Whether ways cost the same in both directions."""
    forbidden: list[tuple[int, int]]
    owners: list[tuple[str, list[int]]]
    """Participants and their rows."""

    row_names: list[str] | None = None
    column_names: list[str] | None = None
    version: int = 1
    data: dict[str, int | list[int]] = {}

    @cached_property
    def known(self) -> Problem:
        """The problem without weights: it knows a plan's cells and which plans are feasible."""
        names = ("name", "kind", "rows", "columns", "symmetric", "forbidden", "version", "data")
        public = PublicProblem(**{name: getattr(self, name) for name in names})
        secret = Objective("secret", None, weight_bound=0)
        return problem_without_weights(public, (secret,), proven=True)

    @property
    def plan_length(self) -> int:
        """How many entries a plan has."""
        return self.known.plan_length


class RecordedObjective(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A confidential objective and everything that was disclosed of it."""

    name: str
    sense: Literal["maximize", "minimize"]
    weight_bound: int
    disclosure: str
    best: Literal["value", "improvement", "nothing"]
    disclosed_best: list[int | bool | None]
    """The disclosed best fitness, one entry per evaluation; if sealed, one at the end
    where that was agreed."""
    disclosed: bytes
    """One value per candidate, in the order of the evaluations, deflated 64-bit words."""
    scale: int = 1
    """The factor by which weights were multiplied."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One recorded run. `Recorder` makes it, `View` unfolds it for the attacks.

    That of a sealed search (`sealed_record`) has no evaluations: the platform sees none.
    """

    problem: RecordedProblem
    objectives: list[RecordedObjective]
    search: dict[str, bool | int | str]
    """The agreed search, which is public."""
    sizes: list[int]
    """Candidates per evaluation."""
    plans: bytes
    """All candidates in order, deflated 16-bit words."""
    published: list[int]
    """The resulting plan; empty where a sealed search opened it to its owners alone."""
    published_too: list[list[int]] = []
    """Further plans, where a sealed search opened one per weighting."""
    seed: int | None = None
    """The seed of the agreed search, known to platform and nodes; None of a sealed search."""

    @property
    def candidates(self) -> int:
        """How many candidates were evaluated in all."""
        return sum(self.sizes)

    @property
    def published_plans(self) -> NDArray[np.int32]:
        """All resulting plans, one per row; none where they are for their owners."""
        plans = [plan for plan in (self.published, *self.published_too) if plan]
        return np.array(plans, dtype=np.int32).reshape(len(plans), self.problem.plan_length)

    def plan_array(self) -> NDArray[np.int32]:
        """All candidates, one per row."""
        words = inflated(self.plans, self.candidates * self.problem.plan_length * 2)
        plans = np.frombuffer(words, "<u2").astype(np.int32)
        return plans.reshape(self.candidates, self.problem.plan_length)

    def disclosed_array(self, objective: int, /) -> NDArray[np.int64]:
        """The disclosed values of an objective, one per candidate."""
        words = inflated(self.objectives[objective].disclosed, self.candidates * 8)
        return np.frombuffer(words, "<i8").astype(np.int64)

    def objective_named(self, name: str | None, /) -> int:
        """The index of an objective in the record: by its name, or the only one."""
        names = [each.name for each in self.objectives]
        if name is None and len(names) == 1:
            return 0
        if name is None or name not in names:
            asked = "several objectives are" if name is None else f"no objective {name!r} is"
            raise InputError(f"{asked} recorded; name one of {', '.join(names)}")
        return names.index(name)

    def encoded(self) -> bytes:
        """The record as the bytes of its file."""
        body = msgspec.msgpack.encode(self)
        return MAGIC + hashlib.sha256(body).digest() + body

    def save(self, path: str | Path, /) -> None:
        """Write the record to a file."""
        with writing(path):
            Path(path).write_bytes(self.encoded())


def load_record(path: str | Path, /) -> Record:
    """Read a record and check that it is consistent."""
    content = read_bytes(path)
    try:
        return decoded(content)
    except InputError as error:
        remedy = "give a file of 'tacit solve --record', or a bundle of 'tacit run bundle'"
        raise FileError(path, None, str(error), remedy) from None


def decoded(content: bytes, /) -> Record:
    """Read a record from the bytes of its file."""
    if not content.startswith(MAGIC):
        other = other_version(content, FORMAT)
        raise InputError(f"the record {other}" if other else "this is not a record of a run")
    start = len(MAGIC) + DIGEST_BYTES
    body = content[start:]
    # The hash finds damage, not forgery: whoever changes a record can compute it anew.
    if hashlib.sha256(body).digest() != content[len(MAGIC) : start]:
        raise InputError("the record was truncated or changed")
    try:
        record = msgspec.msgpack.decode(body, type=Record)
        # First: the sizes of all arrays follow from those of the problem.
        check_problem(record.problem)
        plans = record.plan_array()
        disclosed = [record.disclosed_array(k) for k in range(len(record.objectives))]
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
        raise InputError(f"the record is inconsistent ({error})") from None
    check_record(record, plans, disclosed)
    return record


def deflated(words: NDArray[Any], kind: str, /) -> bytes:
    """An array as deflated words of one kind."""
    return zlib.compress(np.ascontiguousarray(words, dtype=kind).tobytes(), 6)


def inflated(content: bytes, expected: int, /) -> bytes:
    """Undo `deflated`, refusing anything but the expected number of bytes."""
    inflate = zlib.decompressobj()
    try:
        # One byte more shows that the array is too long, without inflating a file made to fill the
        # memory.
        words = inflate.decompress(content, expected + 1)
    except zlib.error as error:
        raise ValueError(f"an array is damaged: {error}") from None
    if len(words) != expected:
        raise ValueError(f"an array does not have the {expected} bytes that its sizes require")
    return words


def check_record(
    record: Record, plans: NDArray[np.int32], disclosed: Sequence[NDArray[np.int64]], /
) -> None:
    """Reject an inconsistent record."""
    problem = record.problem
    if not record.objectives:
        raise InputError("the record has no confidential objective, so nothing can leak")
    published = [record.published, *record.published_too]
    methods = {each.disclosure for each in record.objectives}
    for_owners = published == [[]] and methods == {SEALED}
    if not for_owners and {len(plan) for plan in published} != {problem.plan_length}:
        raise InputError("the record's plans do not have one entry per row")
    if not for_owners and not problem.known.have_the_form(record.published_plans):
        raise InputError("the record's published plans are not plans of its problem")
    if methods == {SEALED}:
        if record.sizes:
            raise InputError("the record is of a sealed search but has evaluations")
        return
    if SEALED in methods or not record.sizes or min(record.sizes) < 1:
        raise InputError("the record has no evaluation, or an empty one")
    fault = problem.known.fault(plans)
    if fault is not None:
        raise InputError(f"a plan of the record {fault[1]}")
    for objective, values in zip(record.objectives, disclosed, strict=True):
        if len(objective.disclosed_best) != len(record.sizes):
            raise InputError(f"{objective.name!r} does not disclose its best once per evaluation")
        disclosure = parse_disclosure(objective.disclosure)
        method = disclosure.method
        if disclosure.discloses_flags and not np.isin(values, (0, 1)).all():
            raise InputError(f"{objective.name!r} discloses values other than true and false")
        # Attacks count by these numbers: one that is too large would take memory without bound.
        if method != "none" and (values.min() < 0 or values.max() >= max(record.sizes) + 1):
            raise InputError(f"{objective.name!r} discloses ranks or groups that do not exist")


def check_problem(problem: RecordedProblem, /) -> None:
    """Reject a problem of unknown kind, or one that is too large, before its plans are read."""
    sides = problem.rows, problem.columns
    if min(sides) < 1 or max(sides) > LARGEST_SIDE or sides[0] * sides[1] > MOST_PAIRS:
        raise InputError(f"the record has {problem.rows} rows and {problem.columns} columns")
    try:
        problem.known  # noqa: B018 - it is built now, and kept
    except InputError as error:
        raise InputError(f"the record's problem: {error}") from None
