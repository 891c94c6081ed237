"""Save a run between two generations, and resume it from there.

A checkpoint is one file: a line with the format, the SHA-256 of the rest, and a MessagePack body.
It is written beside its final name and then moved over it, so that a crash leaves the old one or
the new one and never half of either; and what was damaged since is refused, not searched on.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.errors import FileError
from tacit.files import other_version, read_bytes, replace_file, writing
from tacit.problems import Problem
from tacit.runs.history import BestKnown, GenerationRecord
from tacit.search import SearchParameters, SearchState, parameters_of

if TYPE_CHECKING:
    from tacit.runs.evaluating import EvaluatingDriver


FORMAT = "tacit-checkpoint/1"
_FIRST_LINE = f"{FORMAT}\n".encode()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state that a run needs to continue, taken between two generations."""

    search: SearchState
    random: dict[str, Any]
    """The state of the bit generator."""
    evaluations: int = 0
    stalled_for: int = 0
    best_known: BestKnown | None = None
    best_so_far: tuple[int | None, ...] = ()
    seconds: float = 0.0


class StoredRun(msgspec.Struct, forbid_unknown_fields=True):
    """A checkpoint's contents."""

    problem: str
    parameters: dict[str, bool | int | str]
    seed: int
    now: Snapshot
    history: list[GenerationRecord]


def problem_digest(problem: Problem, /) -> str:
    """A fingerprint of the problem and of what its objectives disclose."""
    digest = hashlib.sha256(
        repr((problem.kind, problem.rows, problem.columns, problem.name)).encode()
    )
    for objective in problem.objectives:
        public = (objective.name, objective.sense, objective.confidential)
        terms = (str(objective.disclosure), str(objective.best_mode), objective.weight_bound)
        # Disclosures are part of it: the same problem under another one is another search.
        digest.update(repr((public, terms)).encode())
        if objective.weights is not None:
            # In one byte order, so that a checkpoint can move between machines.
            digest.update(objective.weights.astype("<i8").tobytes())
    if problem.allowed is not None:
        digest.update(problem.allowed.tobytes())
    if problem.data:
        digest.update(repr(sorted(problem.data.items())).encode())
    return digest.hexdigest()


def save_checkpoint(run: EvaluatingDriver, path: str | Path, /) -> None:
    """Save the state of a run. See `load_checkpoint` for the way back."""
    now = run.now
    if now.best_known is None:
        return  # nothing was evaluated yet, so starting anew loses nothing
    stored = StoredRun(
        problem=problem_digest(run.problem),
        parameters=asdict(run.parameters),
        seed=run.seed,
        now=replace(now, random=_words(now.random, str)),
        # An interrupt may have left a record of a generation that the snapshot does not have.
        history=run.history[: now.search.generation + 1],
    )
    body = msgspec.msgpack.encode(stored, enc_hook=_store)
    with writing(path):
        replace_file(Path(path), _FIRST_LINE + hashlib.sha256(body).digest() + body, durable=True)


def load_checkpoint(
    path: str | Path, problem: Problem, parameters: SearchParameters, /, *, seed: int
) -> tuple[Snapshot, list[GenerationRecord]]:
    """Read where a run stood; refuses that of another problem, setting or seed."""
    stored = _read(path)
    # With another problem or setting the run would go on without an error, and end with a result
    # that no run from its start gives.
    for what, there, here in (
        ("problem or disclosure", stored.problem, problem_digest(problem)),
        ("set of parameters", parameters_of(stored.parameters), parameters),
        ("seed", stored.seed, seed),
    ):
        if there != here:
            raise FileError(
                path, None, f"belongs to another {what}", "resume with what it was started with"
            )
    return replace(stored.now, random=_words(stored.now.random, int)), stored.history


def _read(path: str | Path) -> StoredRun:
    whole = read_bytes(path)
    start = len(_FIRST_LINE) + hashlib.sha256().digest_size
    body = whole[start:]
    try:
        if whole[:start] == _FIRST_LINE + hashlib.sha256(body).digest():
            return _READ_RUN.decode(body)
    except (msgspec.DecodeError, ValueError, TypeError):
        pass  # it is whole, but no checkpoint of a run
    problem = other_version(whole, FORMAT) or "is not a tacit checkpoint, or is damaged"
    raise FileError(path, None, problem, "start without --resume")


def _store(array: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return little_endian.dtype.str, array.shape, little_endian.tobytes()


def _restore(_type: type, stored: tuple[str, tuple[int, ...], bytes]) -> NDArray[Any]:
    dtype, shape, data = stored
    array = np.frombuffer(data, dtype=dtype).reshape(shape)
    # A writable copy in the machine's own byte order: kernels are compiled for those.
    return array.astype(array.dtype.newbyteorder("="))


_READ_RUN = msgspec.msgpack.Decoder(StoredRun, dec_hook=_restore)


def _words(state: dict[str, Any], kind: type[int] | type[str]) -> dict[str, Any]:
    """PCG64's 128-bit words exceed what MessagePack holds as a number, so they go as text."""
    return {**state, "state": {name: kind(word) for name, word in state["state"].items()}}
