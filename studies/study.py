"""Define a study: jobs, each of which gives a row, and what is written from all rows.

A study is read from a TOML file that says everything its rows depend on, so two people who run it
get the same rows. `studies.running` computes the jobs in parallel and keeps each row in a file of
its own, named by the job's key and put in place in one step: whatever kills the process, a row is
there whole or not at all. Studies with a job in common share its row.
"""

from __future__ import annotations

import hashlib
import tomllib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec
import numpy as np

import tacit
from tacit.disclosure import PAPER_CONFIGURATIONS
from tacit.errors import FileError
from tacit.files import replace_file
from tacit.plain_text import decoders_words


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of work: its row is a function of these fields and of the version of tacit."""

    row: ClassVar[Any]
    """The type of its row."""
    version: ClassVar[int] = 1
    """Counts up when the same fields give another row, so that kept rows are computed anew."""

    @property
    def key(self) -> str:
        """What the kept row is called: a hash of everything that it depends on."""
        described = [type(self).__name__, self.version, tacit.__version__, self.identity]
        content = msgspec.json.encode(described, order="deterministic")
        return hashlib.sha256(content).hexdigest()[:32]

    @property
    def identity(self) -> Job:
        """The job without what does not matter to its row."""
        return self

    @property
    def label(self) -> str:
        """What an error calls the job."""
        return self.key

    @property
    def effort(self) -> float:
        """Jobs with more of it are computed first, so that all cores stay busy to the end."""
        return 0.0

    def compute(self) -> Any:  # noqa: ANN401 - of the type `row`
        """Give the row."""
        raise NotImplementedError


Rows = Mapping[Any, Any]
"""By job its row."""


class Seeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run seeds, counted up from the first."""

    first: int = 0
    count: int = 31

    def all(self) -> range:
        """Every seed."""
        return range(self.first, self.first + self.count)


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A name, jobs, and what is written once their rows are there."""

    name: str
    """Also of the folder for what is written."""
    title: str = ""

    def jobs(self) -> Sequence[Job]:
        """Every job, in the order of the rows; the same job may stand twice."""
        raise NotImplementedError

    def quick(self) -> Self:
        """A smaller study of the same, which takes seconds or a few minutes."""
        raise NotImplementedError

    def write(self, rows: Rows, folder: Path, /) -> None:
        """Write tables, pictures and figures to a folder."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """The whole configuration, as `study.json` has it."""
        described: dict[str, Any] = msgspec.to_builtins(self)
        return described


S = TypeVar("S", bound=Study)


def study_from(text: str, path: str | Path, kind: type[S], /, *, see: str) -> S:
    """Read a study of a kind; a mistake is said with the document to `see`."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(path, None, f"is not TOML ({error})", "correct it") from None
    try:
        if raw.get("disclosures") == "paper":
            raw["disclosures"] = list(PAPER_CONFIGURATIONS)
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise FileError(path, None, decoders_words(error), f"see {see}") from None


def shipped_text(package: str, name: str, /) -> str:
    """The text of a study file that comes with a package."""
    return (files(package) / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class RowStore:
    """The rows in a folder."""

    folder: Path

    def path_of(self, job: Job, /) -> Path:
        """Where the row of a job is kept."""
        return self.folder / f"{job.key}.row"

    def missing(self, jobs: Iterable[Job], /) -> list[Job]:
        """The jobs that are still to be computed, each once."""
        there = {entry.name for entry in self.folder.iterdir()} if self.folder.is_dir() else set()
        return [job for job in dict.fromkeys(jobs) if self.path_of(job).name not in there]

    def keep(self, job: Job, content: bytes, /) -> None:
        """Put an encoded row in its place."""
        write_whole(self.path_of(job), content)

    def read(self, job: Job, /) -> Any:  # noqa: ANN401 - of the type `job.row`
        """The row of a finished job."""
        return decoded(self.path_of(job).read_bytes(), job.row)


def encoded(row: object, /) -> bytes:
    """A row as the bytes that travel between processes and are kept.

    >>> decoded(encoded({"gaps": np.array([0.5, 0.25])}), dict[str, np.ndarray])
    {'gaps': array([0.5 , 0.25])}
    """
    return zlib.compress(msgspec.msgpack.encode(row, enc_hook=_plain))


def decoded(content: bytes, kind: Any, /) -> Any:  # noqa: ANN401 - of that type
    """Read `encoded` back."""
    return msgspec.msgpack.decode(zlib.decompress(content), type=kind, dec_hook=_array)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"rows hold no {type(value).__name__}")


def _array(_: type, value: tuple[str, list[int], bytes]) -> object:
    dtype, shape, content = value
    return np.frombuffer(content, np.dtype(dtype)).reshape(shape)


def write_whole(path: Path, content: bytes, /) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def write_json(path: Path, value: object, /) -> None:
    """Write a value as indented JSON, whole or not at all."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
