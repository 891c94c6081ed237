"""Entries of ledgers for tests: made up, or changed as somebody who lies would change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from tacit.records import (
    Attempt,
    Disclosed,
    DisclosedLabels,
    DisclosedPlan,
    DisclosureKind,
    Payload,
    plan_hash,
)


def evaluation(
    number: int, labels: list[int], best: int | bool | None = None, /, **rest: Any
) -> Disclosed:
    """The answer to an evaluation of the first objective."""
    payload = DisclosedLabels(labels, best)
    return replace(Disclosed(0, Attempt.of(number, 1, 0), "ab", payload, []), **rest)


def opened_plan(search: int, plan: list[int], /, **told: Any) -> Disclosed:
    """The plan of a search."""
    return about_search(search, Attempt.of(9, 1, 1), DisclosedPlan(plan, **told))


def about_search(search: int, attempt: Attempt, payload: Payload, /, **rest: Any) -> Disclosed:
    """What was opened of a search, as the request for it says."""
    request = plan_hash(search, attempt).hex()
    return replace(Disclosed(search, attempt, request, payload, []), **rest)


def lying(entry: Disclosed, /, **changes: Any) -> Disclosed:
    """An entry with a payload that was changed."""
    return replace(entry, payload=replace(entry.payload, **changes))


def evaluations_in(entries: Iterable[Disclosed], /) -> list[Disclosed]:
    """The answers to evaluations, each once."""
    return [entry for entry in entries if entry.kind is DisclosureKind.LABELS and not entry.again]


def labels_of(entry: Disclosed, /) -> list[int]:
    """The labels that an evaluation disclosed."""
    assert isinstance(entry.payload, DisclosedLabels)
    return entry.payload.labels


def turned(entry: Disclosed, /) -> Disclosed:
    """An evaluation with its labels in the opposite order, which must be another one."""
    labels = labels_of(entry)
    assert labels != labels[::-1]
    return lying(entry, labels=labels[::-1])
