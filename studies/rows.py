"""Rows on disk: one file per finished job.

A file is named by its job's key and put in place in one step, so whatever kills the process, a row
is there whole or not at all. Studies that have a job in common share its row.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from studies.study import Job
from tacit.files import replace_file


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
