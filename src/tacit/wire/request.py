"""What a request is about, for all who take part: nodes and coordinator derive it alike.

Candidates travel as whole numbers in one or two bytes. A hash names a request, and the context of
an attempt binds all its messages to that hash.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.frame_sizes import MOST_CANDIDATES
from tacit.mpc import Context
from tacit.problems import Problem
from tacit.wire.attempt import NO_ATTEMPT, Attempt
from tacit.wire.messages import Advance, Computation, CountRun, Evaluate, Prepare, Reveal

REVEAL_NUMBER = 1 << 63
"""The number of the final reveal, beyond those of all evaluations."""
COUNT_NUMBER = REVEAL_NUMBER + 1
"""That of the account of a run."""


def _dtype(columns: int) -> np.dtype[Any]:
    return np.dtype("u1") if columns <= 256 else np.dtype("<u2")


def pack_candidates(problem: Problem, plans: NDArray[np.integer[Any]], /) -> bytes:
    r"""Plans, one per row, as the nodes take them.

    >>> from tacit.problems import generate_assignment
    >>> pack_candidates(generate_assignment(1, rows=2, columns=3), np.array([[2, 0]]))
    b'\x02\x00'
    """
    return np.ascontiguousarray(plans, dtype=_dtype(problem.columns)).tobytes()


def unpack_candidates(problem: Problem, data: bytes, /) -> NDArray[np.integer[Any]] | None:
    """Plans from their bytes, or None if they are not a whole number of plans."""
    dtype = _dtype(problem.columns)
    size = problem.plan_length * dtype.itemsize
    if not data or len(data) % size or len(data) // size > MOST_CANDIDATES:
        return None
    return np.frombuffer(data, dtype=dtype).reshape(-1, problem.plan_length)


def request_hash(kind: str, disclosure: str, best: str, candidates: bytes, /) -> bytes:
    """What names a request: two with the same hash get the same answer."""
    words = f"tacit request/1\n{kind}\n{disclosure}\n{best}\n".encode()
    return hashlib.sha256(words + candidates).digest()


def candidate_hashes(plans: NDArray[np.integer[Any]], /) -> set[bytes]:
    """A short hash of each plan, to know it again."""
    rows = np.ascontiguousarray(plans, dtype="<u2")
    size = rows.shape[1] * 2
    data = rows.tobytes()
    return {
        hashlib.blake2b(data[at : at + size], digest_size=16).digest()
        for at in range(0, len(data), size)
    }


def advance_hash(request: Advance, /) -> bytes:
    """What names a request for steps of a sealed run."""
    numbers = (request.search, request.first, request.count, request.horizon)
    words = "tacit request/1\nadvance\n" + "".join(f"{number}\n" for number in numbers)
    return hashlib.sha256(words.encode()).digest()


def plan_hash(search: int, attempt: Attempt, /) -> bytes:
    """What names a request to open the plan that an attempt left."""
    return hashlib.sha256(f"tacit request/2\nopen\n{search}\n{attempt}\n".encode()).digest()


def count_hash(request: CountRun, /) -> bytes:
    """What names a request to count a run: with a plan that the platform knows, that one alone."""
    return request_hash("count", "", "", request.plan) if request.plan else b"count"


def number_of(request: Computation[Any], /) -> int:
    """The number in the name of an attempt: of the evaluation, or of the last step."""
    match request:
        case Evaluate(number=number):
            return number
        case Advance(first=first, count=count):
            return first + count
        case Reveal():
            return REVEAL_NUMBER
        case CountRun():
            return COUNT_NUMBER
        case _:
            return 0


def context_of(request: Computation[Any], digest: bytes, /) -> Context:
    """The context of an attempt, bound to its request, its epoch and the attempt it builds on.

    Nodes that were told another epoch or another parent have other tags and other masks, so their
    first message fails. Without the epoch, two epochs whose keys are mixed would share both.
    """
    match request:
        case Evaluate(objective=about, number=number):
            parent = request.parent_attempt
        case Advance(search=about, first=first):
            number, parent = first + 1, request.parent_attempt
        case Reveal(objective=about):
            number, parent = REVEAL_NUMBER, NO_ATTEMPT
        case Prepare(objective=about):
            number, parent = 0, NO_ATTEMPT
        case CountRun(search=about):
            number, parent = COUNT_NUMBER, request.state
        case _:
            raise TypeError(f"{type(request).__name__} is not computed")
    bound = digest + request.epoch.to_bytes(8, "little") + parent.encode()
    bound += b" signed" if request.signed else b""
    return Context(request.agreement, about, number, request.attempt, bound)
