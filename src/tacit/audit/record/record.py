"""A recorded run: the platform's whole view of it, in one compact file.

Candidates, what was disclosed of each, and what was told of the best, evaluation by evaluation;
no weights. The file is a line that names the format, the SHA-256 of the rest, and the rest as
MessagePack with the large arrays deflated.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from tacit.audit.record.record_check import check_problem, check_record
from tacit.errors import FileError, InputError
from tacit.problems import Objective, Problem, PublicProblem, problem_without_weights

MAGIC = b"tacit-record/1\n"
DIGEST_BYTES = 32


class RecordedProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What everybody knows of the problem."""

    name: str
    kind: str
    rows: int
    columns: int
    symmetric: bool
    """Whether ways cost the same in both directions."""
    forbidden: list[tuple[int, int]]
    owners: list[tuple[str, list[int]]]
    """Participants and their rows."""

    version: int | UnsetType = UNSET
    data: dict[str, int | list[int]] | UnsetType = UNSET

    @cached_property
    def known(self) -> Problem:
        """What the kind knows of the problem: which cells plans add up, and which are feasible."""
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
    told: list[int | bool | None]
    """What was told of the best fitness, one entry per evaluation; if sealed, one per generation
    or one in the end, as agreed."""
    disclosed: bytes
    """One value per candidate, in the order of the evaluations, deflated 64-bit words."""


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
    """The plan that came out."""
    published_too: list[list[int]] = []
    """Further plans, where a sealed search opened one per weighting."""
    seed: int | None = None
    """Of the agreed search, which platform and nodes know; records of old have none."""

    @property
    def candidates(self) -> int:
        """How many candidates were evaluated in all."""
        return sum(self.sizes)

    @property
    def published_plans(self) -> NDArray[np.int32]:
        """Every plan that came out, one per row."""
        return np.array([self.published, *self.published_too], dtype=np.int32)

    def plan_array(self) -> NDArray[np.int32]:
        """All candidates, one per row."""
        words = inflated(self.plans, self.candidates * self.problem.plan_length * 2)
        plans = np.frombuffer(words, "<u2").astype(np.int32)
        return plans.reshape(self.candidates, self.problem.plan_length)

    def disclosed_array(self, objective: int, /) -> NDArray[np.int64]:
        """What was disclosed of an objective, one value per candidate."""
        words = inflated(self.objectives[objective].disclosed, self.candidates * 8)
        return np.frombuffer(words, "<i8").astype(np.int64)

    def objective_named(self, name: str | None, /) -> int:
        """The place of an objective in the record: by its name, or the only one."""
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
        try:
            Path(path).write_bytes(self.encoded())
        except OSError as error:
            raise FileError(
                path, None, f"cannot be written ({error.strerror})", "choose another place"
            ) from None


def load_record(path: str | Path, /) -> Record:
    """Read a record and check that it fits together.

    >>> load_record("no-such.record")
    Traceback (most recent call last):
    tacit.errors.FileError: no-such.record: cannot be read (No such file or directory); \
check the path
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FileError(
            path, None, f"cannot be read ({error.strerror})", "check the path"
        ) from None
    try:
        return decoded(content)
    except InputError as error:
        remedy = "give a file of 'tacit solve --record'"
        raise FileError(path, None, str(error), remedy) from None


def decoded(content: bytes, /) -> Record:
    """Read a record from the bytes of its file.

    >>> decoded(b"something else")
    Traceback (most recent call last):
    tacit.errors.InputError: this is no record of a run
    """
    if not content.startswith(MAGIC):
        raise InputError("this is no record of a run")
    start = len(MAGIC) + DIGEST_BYTES
    body = content[start:]
    if hashlib.sha256(body).digest() != content[len(MAGIC) : start]:
        raise InputError("the record was cut off or changed")
    try:
        record = msgspec.msgpack.decode(body, type=Record)
        check_problem(record.problem)
        plans = record.plan_array()
        disclosed = [record.disclosed_array(k) for k in range(len(record.objectives))]
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError) as error:
        raise InputError(f"the record does not fit together ({error})") from None
    check_record(record, plans, disclosed)
    return record


def deflated(words: NDArray[Any], kind: str, /) -> bytes:
    """An array as deflated words of one kind.

    >>> inflated(deflated(np.zeros(9), "<u2"), 18) == bytes(18)
    True
    """
    return zlib.compress(np.ascontiguousarray(words, dtype=kind).tobytes(), 6)


def inflated(content: bytes, expected: int, /) -> bytes:
    """Undo `deflated`, refusing anything but the expected number of bytes."""
    inflate = zlib.decompressobj()
    try:
        words = inflate.decompress(content, expected + 1)
    except zlib.error as error:
        raise ValueError(f"an array is damaged: {error}") from None
    if len(words) != expected:
        raise ValueError(f"an array has not the {expected} bytes that its sizes ask for")
    return words
