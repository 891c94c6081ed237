"""From something valid to something that is nearly so: trees of values, and bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

Path = tuple[Any, ...]
MOST_VALUES, MOST_CHARACTERS = 10_000, 1_000_000
"""So large is a tree at most that was made by repeating something."""

LARGE = [2**16, 2**31, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = [-1, 0, 1, 2, 3, 255, 4097, -(2**63), *LARGE]
TEXTS = [
    "", "0", "-1", "1e9", "top:0", "top:99999999999999999999", "top:" + "9" * 5000, "quantiles:0",
    "sealed", "none", "order", "value", "\x00", "\u202e", "\ud800", "é" * 300, "x" * 70_000,
    "../..", "ab" * 16, "0" * 64, "g" * 64, " 1", "1:1:1", "1_0", "9" * 20 + ":1:1", "1:2 2:4",
]  # fmt: skip


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@cache  # to make the strategies takes longer than to draw from them
def values(*, largest: int = 2**64 - 1) -> st.SearchStrategy[Any]:
    """What to put in the place of something else."""
    return st.one_of(
        st.sampled_from([each for each in NUMBERS if each <= largest]),
        st.sampled_from(TEXTS),
        st.integers(-(2**63), largest),
        st.text(max_size=12),
        st.sampled_from([None, True, False, 0.5, -0.0, 1e300, [], {}, [0], {"a": 1}, nested(50)]),
        st.binary(max_size=40),
    ).map(copy.deepcopy)  # lists and dicts among them may be changed further


def places(tree: Any, path: Path = ()) -> Iterator[Path]:
    """The way to every value of a tree, itself first."""
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from places(value, (*path, key))
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from places(value, (*path, number))


_WAYS = ("replace", "replace", "replace", "nearby", "delete", "copy", "repeat", "add", "swap")


@st.composite
def mutated(draw: st.DrawFn, tree: Any, *, most: int = 3) -> Any:
    """A tree of dicts, lists and scalars with up to so many changes; none is possible too."""
    changed = copy.deepcopy(tree)
    for _ in range(draw(st.integers(0, most))):
        ways = list(places(changed))
        path = ways[draw(st.integers(0, len(ways) - 1))]
        way = draw(st.sampled_from(_WAYS))
        changed = _change(draw, changed, path, way)
    return changed


def _change(draw: st.DrawFn, tree: Any, path: Path, way: str) -> Any:
    if not path:
        return draw(values()) if draw(st.integers(0, 20)) == 0 else tree
    *above, key = path
    around = tree
    for step in above:
        around = around[step]
    old = around[key]
    match way:
        case "replace":
            around[key] = draw(values())
        case "nearby" if isinstance(old, int):
            around[key] = old + draw(st.sampled_from([-1, 1, 2, 1000]))
        case "nearby" if isinstance(old, str):
            around[key] = old + old[:1] if draw(st.booleans()) else old[1:]
        case "nearby" if isinstance(old, bytes):
            around[key] = old + old[:1] if draw(st.booleans()) else old[1:]
        case "delete":
            del around[key]
        case "copy" if isinstance(around, list):
            around.insert(draw(st.integers(0, len(around))), copy.deepcopy(old))
        case "repeat" if isinstance(around, list):
            # As often as the example stays small: what is large must also be made, and quickly.
            # One of the texts has 70,000 characters, of which JSON has as many copies.
            values_here, characters = sum(1 for _ in places(around)), _characters(around)
            most = min(MOST_VALUES // values_here, MOST_CHARACTERS // max(1, characters))
            around[:] = around * max(1, min(most, draw(st.sampled_from([2, 100, 1000]))))
        case "add" if isinstance(old, dict):
            old[draw(st.text(max_size=5))] = draw(values())
        case "swap" if isinstance(around, dict):
            other = draw(st.sampled_from(sorted(around, key=repr)))  # numbers and texts too
            around[key], around[other] = around[other], around[key]
    return tree


def _characters(tree: Any) -> int:
    """How long all texts of a tree are.

    >>> _characters({"a": ["bc", 5, b"de"]})
    5
    """
    if isinstance(tree, dict):
        return sum(_characters(key) + _characters(value) for key, value in tree.items())
    if isinstance(tree, list):
        return sum(map(_characters, tree))
    return len(tree) if isinstance(tree, str | bytes) else 0


def as_json(tree: Any) -> bytes:
    """Canonical JSON of a tree, also where that is not allowed to be one."""
    text = json.dumps(
        tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=bytes.hex
    )
    return text.encode("utf-8", "surrogatepass")


def as_msgpack(tree: Any) -> bytes:
    """MessagePack of a tree."""
    return msgspec.msgpack.encode(_encodable(tree))


def _encodable(tree: Any) -> Any:
    """Without what MessagePack has no bytes for."""
    if isinstance(tree, dict):
        return {_encodable(key): _encodable(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_encodable(value) for value in tree]
    if isinstance(tree, str):
        return tree.encode("utf-8", "replace").decode()
    if isinstance(tree, int) and not isinstance(tree, bool):
        return max(-(2**63), min(tree, 2**64 - 1))
    return tree


@st.composite
def mangled(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with a change that knows nothing of what they mean."""
    at = draw(st.integers(0, len(data)))
    match draw(st.sampled_from(("flip", "cut", "insert", "double", "drop"))):
        case "flip" if at < len(data):
            return data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
        case "cut":
            return data[:at]
        case "insert":
            return data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at:]
        case "double":
            return data[:at] + data[at : at + 40] + data[at:]
    return data[:at] + data[at + draw(st.integers(1, 9)) :]


@st.composite
def sometimes_mangled(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes as they are, mostly."""
    return draw(mangled(data)) if draw(st.integers(0, 7)) == 0 else data
