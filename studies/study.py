"""What a study is: jobs, each of which gives a row, and what is written from all rows.

A study is read from a TOML file that says everything its rows depend on, so two people who run it
get the same rows. `studies.running` computes the jobs, in parallel, and keeps their rows.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec

import tacit
from tacit.disclosure import PAPER_CONFIGURATIONS
from tacit.errors import FileError
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
