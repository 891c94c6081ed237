"""Logs whose chain is right and whose lines are not, and ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st

from tacit.records.events import AnyEvent
from tacit.records.ledger import Payload, read_ledger
from tacit.records.log import FIRST, line_hash, verify_log
from tacit.records.node_log import _ENCODER
from tests.fuzz.harness import Target, Trial
from tests.fuzz.mutations import as_json, mutated, sometimes_mangled
from tests.fuzz.requests import sample

PARTS: Any = [[[0, [""]]], [], []]


def _tree(kind: Any) -> Any:
    fields = {
        field.name: sample(field.type)
        for field in msgspec.structs.fields(kind)
        if field.required and field.name != "parts"
    }
    return msgspec.json.decode(_ENCODER.encode(kind(**fields)))


@contextmanager
def logs() -> Iterator[Trial]:
    """A log of every event, one of which is changed; the lines after it follow it."""
    events = [_tree(kind) for kind in get_args(AnyEvent)]

    @st.composite
    def examples(draw: st.DrawFn) -> bytes:
        lines, previous = [], FIRST
        chosen = draw(st.lists(st.sampled_from(events), min_size=1, max_size=4))
        for event in chosen:
            tree = draw(mutated(event, most=2))
            if isinstance(tree, dict):
                tree["previous"] = previous
            line = draw(sometimes_mangled(as_json(tree)))
            if draw(st.integers(0, 40)) == 0:
                line = line.replace(b":", b":" + b"[" * 5000, 1)
            lines.append(line + b"\n")
            previous = line_hash(line)
        return b"".join(lines)

    def run(data: bytes) -> int:
        verify_log(data)
        return 1

    yield Trial(examples(), run)


@contextmanager
def ledgers() -> Iterator[Trial]:
    """Entries with payloads of every kind."""
    payloads: list[Any] = [
        {"kind": "labels", "labels": [0, 1], "best": 3},
        {"kind": "best", "candidates": 3, "index": 1},
        {"kind": "front", "candidates": 3, "nondominated": [0, 2], "values": [[1, 2], [2, 1]]},
        {"kind": "proved", "finished": True},
        {"kind": "plan", "plan": [0, 1], "value": None, "outcome": "feasible", "gap": 100},
        {"kind": "plan for owners", "value": None,
         "heads": [{"commitments": ["ab", "cd"], "boxes": "ef"}, None, None]},
    ]  # fmt: skip
    assert len(get_args(Payload)) == len(payloads)
    entry = {"entry": "disclosed", "about": 0, "attempt": "1:2:3", "request": "ab", "parts": PARTS}

    @st.composite
    def examples(draw: st.DrawFn) -> bytes:
        chosen = {**entry, "payload": draw(st.sampled_from(payloads))}
        if draw(st.booleans()):
            chosen |= {"without": 3, "again": True, "unchecked": True}
        return draw(sometimes_mangled(as_json(draw(mutated(chosen))))) + b"\n"

    def run(example: bytes) -> int:
        read_ledger(example)
        return 1

    yield Trial(examples(), run)


TARGETS = [Target("logs", 100_000, logs), Target("ledgers", 100_000, ledgers)]
