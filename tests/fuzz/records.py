"""Logs whose chain is right and whose lines are not, and ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st

from tacit.engine.records.ledger import LedgerEntry, read_ledger
from tacit.engine.records.node_events import AnyEvent
from tacit.engine.records.node_log import _ENCODER, FIRST, line_hash, verify_log
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
    """Entries of every kind."""
    answer = {"entry": "answer", "objective": 0, "number": 1, "request": "ab", "disclosed": [0, 1],
              "best": 3, "parts": PARTS}  # fmt: skip
    others: list[Any] = [
        {"entry": "best", "objective": 0, "index": 1},
        {"entry": "plan", "search": 0, "plan": [0, 1], "value": None, "parts": PARTS,
         "outcome": "feasible", "gap": 100},
        {"entry": "finished", "search": 0, "number": 6, "request": "ab", "finished": True,
         "parts": PARTS, "without": 3},
        {"entry": "plan for owners", "search": 0, "attempt": "1 2 3", "value": None, "parts": PARTS,
         "heads": [{"commitments": ["ab", "cd"], "boxes": "ef"}, None, None]},
        {"entry": "front", "objective": 0, "request": "ab", "candidates": 3, "nondominated": [0, 2],
         "values": [[1, 2], [2, 1]], "parts": PARTS},
    ]  # fmt: skip
    assert len(get_args(LedgerEntry)) == 6

    @st.composite
    def examples(draw: st.DrawFn) -> bytes:
        tree = draw(mutated(draw(st.sampled_from([answer, *others]))))
        return draw(sometimes_mangled(as_json(tree))) + b"\n"

    def run(example: bytes) -> int:
        read_ledger(example)
        return 1

    yield Trial(examples(), run)


TARGETS = [Target("logs", 100_000, logs), Target("ledgers", 100_000, ledgers)]
