"""Answers as ledgers of earlier versions have them: two masked parts, from nodes 0 and 1 of three.

They add up to what is disclosed. Since then every node may send a part, and the last one always
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc import Best, DisclosedValues, FitnessBound, Spec, Substreams, read_answer


def are_two_parts(parts: Sequence[Substreams], /) -> bool:
    """Whether these are the parts of an earlier version."""
    return len(parts) == 3 and not parts[2]


def _words(parts: Sequence[Substreams], substream: int, word: str) -> list[NDArray[Any]]:
    data = [b"".join(part.get(substream, [])) for part in parts[:2]]
    size = np.dtype(word).itemsize
    if not data[0] or len(data[0]) != len(data[1]) or len(data[0]) % size:
        raise AbortError("the nodes", "sent less than this, says the record")
    return [np.frombuffer(each, dtype=word) for each in data]


def xor_of_two_parts(parts: Sequence[Substreams], substream: int, word: str, /) -> NDArray[Any]:
    """The XOR of both."""
    first, second = _words(parts, substream, word)
    both: NDArray[Any] = first ^ second
    return both


def _sum(parts: Sequence[Substreams], substream: int) -> NDArray[Any]:
    first, second = _words(parts, substream, "<u8")
    both: NDArray[Any] = first + second
    return both


def read_two_parts(
    parts: Sequence[Substreams], n: int, *, spec: Spec, bound: FitnessBound, best: Best
) -> DisclosedValues:
    """What they disclose, or an `AbortError`."""
    about_best = None
    if spec.kind == "none":
        rows = _sum(parts, 0)
    elif spec.has_thresholds:
        rows = xor_of_two_parts(parts, 1, "u1")
        if len(rows) % n:
            raise AbortError("the nodes", "sent bits that encode no bucket")
        rows = rows.reshape(n, -1)
    else:
        rows = xor_of_two_parts(parts, 1, "<u4")
    if spec.kind != "none" and best != "nothing":
        about_best = _sum(parts, 2) if best == "value" else xor_of_two_parts(parts, 2, "u1")
    if len(rows) != n:
        raise AbortError("the nodes", f"sent {len(rows)} labels of {n}, says the record")
    return read_answer(rows, about_best, spec=spec, bound=bound, best=best)
