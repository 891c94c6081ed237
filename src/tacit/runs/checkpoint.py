"""Saving a run between two generations, and going on from there.

A checkpoint is one file: a line with the format, the SHA-256 of the rest, and a MessagePack body.
It is written beside its final name and then moved over it, so that a crash leaves the old one or
the new one and never half of either; and what was damaged since is refused, not searched on.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.problems import Problem
from tacit.runs.best_known import BestKnown
from tacit.runs.history import GenerationRecord
from tacit.runs.run import Run, Snapshot
from tacit.search import SearchParameters, SearchState

FORMAT = b"tacit-checkpoint/1\n"


class StoredArray(msgspec.Struct, array_like=True):
    """An array as its dtype, shape and bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class StoredRun(msgspec.Struct, forbid_unknown_fields=True):
    """A checkpoint's contents."""

    problem: str
    parameters: SearchParameters
    seed: int
    generation: int
    genomes: StoredArray
    estimates: StoredArray
    front_of: StoredArray
    crowding: StoredArray
    random: dict[str, Any]
    evaluations: int
    stalled_for: int
    best_generation: int
    best_told: tuple[int | bool | None, ...]
    best_highest: tuple[int | bool | None, ...]
    best_genomes: StoredArray
    best_so_far: tuple[int | None, ...]
    seconds: float
    history: list[GenerationRecord]


def problem_digest(problem: Problem, /) -> str:
    """A fingerprint of the problem and of what its objectives disclose.

    >>> from tacit.problems import Assignment, Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]))
    >>> problem_digest(Assignment(name="p", rows=2, columns=2, objectives=(pay,)))[:8]
    'e8da90e8'
    """
    digest = hashlib.sha256(
        repr((problem.kind, problem.rows, problem.columns, problem.name)).encode()
    )
    for objective in problem.objectives:
        public = (objective.name, objective.sense, objective.confidential)
        told = (str(objective.disclosure), str(objective.best_mode), objective.weight_bound)
        digest.update(repr((public, told)).encode())
        if objective.weights is not None:
            digest.update(objective.weights.astype("<i8").tobytes())
    if problem.allowed is not None:
        digest.update(problem.allowed.tobytes())
    if problem.data:
        digest.update(repr(sorted(problem.data.items())).encode())
    return digest.hexdigest()


def save_checkpoint(run: Run, path: str | Path, /) -> None:
    """Write where the run stands. See `load_checkpoint` for the way back."""
    now, target = run.now, Path(path)
    if now.best_known is None:
        return  # nothing was evaluated yet, so starting anew loses nothing
    stored = StoredRun(
        problem=problem_digest(run.problem),
        parameters=run.parameters,
        seed=run.seed,
        generation=now.search.generation,
        genomes=_store(now.search.genomes),
        estimates=_store(now.search.estimates),
        front_of=_store(now.search.front_of),
        crowding=_store(now.search.crowding),
        random=_words_as_text(now.random),
        evaluations=now.evaluations,
        stalled_for=now.stalled_for,
        best_generation=now.best_known.generation,
        best_told=now.best_known.told,
        best_highest=now.best_known.highest,
        best_genomes=_store(now.best_known.genomes),
        best_so_far=now.best_so_far,
        seconds=now.seconds,
        history=run.history[: now.search.generation + 1],
    )
    body = msgspec.msgpack.encode(stored)
    draft = target.with_name(target.name + ".partial")
    try:
        with draft.open("wb") as file:
            file.write(FORMAT + hashlib.sha256(body).digest() + body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise FileError(
            target, None, f"cannot be written ({error.strerror})", "choose another place"
        ) from None


def load_checkpoint(path: str | Path, run: Run, /) -> None:
    """Put a fresh run where a saved one stood; refuses another problem, setting or seed."""
    stored = _read(path)
    for what, there, here in (
        ("problem or disclosure", stored.problem, problem_digest(run.problem)),
        ("set of parameters", stored.parameters, run.parameters),
        ("seed", stored.seed, run.seed),
    ):
        if there != here:
            raise FileError(
                path, None, f"belongs to another {what}", "resume with what it was started with"
            )
    search = SearchState(
        generation=stored.generation,
        genomes=_restore(stored.genomes),
        estimates=_restore(stored.estimates),
        front_of=_restore(stored.front_of),
        crowding=_restore(stored.crowding),
    )
    best_known = BestKnown(
        generation=stored.best_generation,
        told=stored.best_told,
        highest=stored.best_highest,
        genomes=_restore(stored.best_genomes),
    )
    snapshot = Snapshot(
        search=search,
        random=_words_as_numbers(stored.random),
        evaluations=stored.evaluations,
        stalled_for=stored.stalled_for,
        best_known=best_known,
        best_so_far=stored.best_so_far,
        seconds=stored.seconds,
    )
    run.resume(snapshot, stored.history)


def _read(path: str | Path) -> StoredRun:
    try:
        whole = Path(path).read_bytes()
    except OSError as error:
        raise FileError(
            path, None, f"cannot be read ({error.strerror})", "check the path"
        ) from None
    start = len(FORMAT) + hashlib.sha256().digest_size
    body = whole[start:]
    try:
        if whole[:start] == FORMAT + hashlib.sha256(body).digest():
            return msgspec.msgpack.decode(body, type=StoredRun)
    except msgspec.DecodeError:
        pass  # whole, but of another version
    raise FileError(
        path,
        None,
        "is not a tacit checkpoint of this version, or is damaged",
        "start without --resume",
    )


def _store(array: NDArray[Any]) -> StoredArray:
    little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return StoredArray(little_endian.dtype.str, array.shape, little_endian.tobytes())


def _restore(stored: StoredArray) -> NDArray[Any]:
    array = np.frombuffer(stored.data, dtype=stored.dtype).reshape(stored.shape)
    # A writable copy in the machine's own byte order: kernels are compiled for those.
    return array.astype(array.dtype.newbyteorder("="))


def _words_as_text(state: dict[str, Any]) -> dict[str, Any]:
    """PCG64's 128-bit words exceed what MessagePack holds as a number."""
    words = {name: str(word) for name, word in state["state"].items()}
    return {**state, "state": words}


def _words_as_numbers(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "state": {name: int(word) for name, word in state["state"].items()}}
