"""What the platform and auditors are sent: bodies of requests, names, and audit bundles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from hypothesis import strategies as st

from tacit.client import Join, NextRun, RunTerms, SeriesTerms, SubmitRows
from tacit.names import checked_name, first_look_alikes, skeletons
from tacit.service.workflow.large_input import decoded
from tacit.verify import Bundle, LogSignature, check_bundle, read_bundle, write_bundle
from tests.fuzz.harness import FindingError, Target, Trial
from tests.fuzz.mutations import as_json, mangled, mutated, sometimes_mangled
from tests.service.example_terms import plain_terms

BUNDLE = Bundle(
    run="r-aaaaaaaaaa",
    state="finished",
    agreement=b'{"format":"tacit-agreement/1"}',
    signatures={"north": "ab" * 64},
    logs=dict.fromkeys(range(3), b'{"entry": 1}\n' * 5),
    log_signatures=[LogSignature(node, 1, "cd" * 64) for node in range(3)],
    manifests=[],
    ledger=b"{}\n",
    result=b'{"state": "finished"}',
)


@contextmanager
def bodies() -> Iterator[Trial]:
    """Requests that may be large, changed: understood as they are, or a `MalformedError`."""
    run = plain_terms()
    sources: list[tuple[Any, type[msgspec.Struct]]] = [
        (run, RunTerms),
        ({"name": "daily", "run": run}, SeriesTerms),
        ({"name": "next", "problem": run["problem"]}, NextRun),
        ({"code": "tci_x", "signing_key": "ab" * 32, "account": "north"}, Join),
        (
            {"objective": 0, "manifest": "ab", "signature": "cd" * 64, "boxes": ["QQ=="] * 3},
            SubmitRows,
        ),
    ]

    @st.composite
    def examples(draw: st.DrawFn) -> tuple[bytes, type[msgspec.Struct]]:
        tree, kind = draw(st.sampled_from(sources))
        return draw(sometimes_mangled(as_json(draw(mutated(tree))))), kind

    def read(example: tuple[bytes, type[msgspec.Struct]]) -> int:
        content, kind = example
        record = decoded(content, kind)
        again = decoded(msgspec.json.encode(record), kind)
        if again != record:
            raise FindingError(f"{record} does not come back")
        return 1

    yield Trial(examples(), read)


@contextmanager
def names() -> Iterator[Trial]:
    """Anything is a name that stays as it is, or none."""

    def check(name: str) -> int:
        try:
            kept = checked_name(name)
        except ValueError:
            return 1
        if checked_name(kept) != kept or not kept.isprintable():
            raise FindingError(f"{name!a} does not stay {kept!a}")
        if first_look_alikes([kept, kept]) is None or "" in skeletons(kept):
            raise FindingError(f"{kept!a} looks like nothing")
        return 1

    letters = st.characters(categories=["L", "M", "N", "P"])
    yield Trial(st.text(letters | st.characters(), max_size=70), check)


@contextmanager
def bundles() -> Iterator[Trial]:
    """A bundle with changed bytes."""
    packed = write_bundle(BUNDLE)

    def check(data: bytes) -> int:
        check_bundle(read_bundle(data))
        return 1

    yield Trial(mangled(packed), check)


TARGETS = [
    Target("bodies", 100_000, bodies),
    Target("names", 200_000, names),
    Target("bundles", 50_000, bundles),
]
