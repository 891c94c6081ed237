"""Whether one plan was opened to its owners: from what binds the nodes to their parts and boxes.

Nothing of a plan is in logs and ledger. What they show is that all nodes were bound to one plan,
to the same components of it and to their lists of boxes, before any box left a node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tacit.engine.agreement import Agreement, PlanHeads, sealed_terms
from tacit.engine.records import (
    Event,
    Log,
    OwnersPlan,
    PlanBound,
    PlanReleased,
    PlanSealed,
    join_value,
    senders_of,
)
from tacit.errors import AbortError, LogError
from tacit.mpc import held_by, left_without
from tacit.verify.answer_log import is_hash_of
from tacit.verify.loss import lost_by

E = TypeVar("E", bound=Event)
Seen = Mapping[int, Mapping[int, PlanHeads]]
"""Per search and node, what a participant's boxes were bound to."""


def confirm_parts(
    agreement: Agreement, logs: Sequence[Log], opened: Sequence[OwnersPlan], /
) -> dict[int, int]:
    """Per search whose plan was opened, how many logs show that a node released its boxes."""
    if len({(entry.search, entry.attempt) for entry in opened}) > len(
        {entry.search for entry in opened}
    ):
        raise LogError("the ledger has two plans of one search; a node opens one")
    confirmed = {entry.search: 0 for entry in opened}
    for entry in opened:
        _check_entry(agreement, logs, entry)
        found = sum(_releases(log, agreement, entry) for log in logs)
        confirmed[entry.search] = max(confirmed[entry.search], found)
    return confirmed


def _of(kind: type[E], log: Log, search: int) -> list[E]:
    found = [event for event in log if isinstance(event, kind)]
    return [event for event in found if getattr(event, "search", None) == search]


def _check_entry(agreement: Agreement, logs: Sequence[Log], entry: OwnersPlan) -> None:
    """The value must be that of its parts, and holders of a component be bound to the same."""
    nodes = len(agreement.nodes)
    searches = range(len(sealed_terms(agreement).weightings))
    if entry.search not in searches or not len(entry.heads) == len(entry.parts) == nodes:
        raise LogError("the ledger has not kept what binds the nodes to the parts of a plan")
    try:
        joined = join_value(agreement, entry.search, entry.parts)
    except AbortError as error:
        raise LogError(
            f"the parts of the value in the ledger do not fit ({error}); it was changed"
        ) from None
    said = entry.value, entry.outcome, entry.gap
    if (joined.value, joined.outcome, joined.gap) != said:
        raise LogError("the nodes opened another value than the ledger says; it was changed")
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    roots: dict[int, tuple[int, str]] = {}
    for node, heads in enumerate(entry.heads):
        if heads is None:
            continue
        of_all = len(heads.commitments) == nodes - 1
        members = left_without(nodes, None if of_all else lost)
        if node not in members or len(heads.commitments) != len(members) - 1:
            raise LogError(f"node {node} is bound to parts of a plan that it cannot hold")
        held = held_by(members.index(node), len(members))
        for component, root in zip(held, heads.commitments, strict=True):
            other, known = roots.setdefault(component, (node, root))
            if known != root:
                raise LogError(
                    f"nodes {other} and {node} are bound to different numbers as component "
                    f"{component} of the plan; one of them lies"
                )


def _releases(log: Log, agreement: Agreement, entry: OwnersPlan) -> bool:
    """Whether a log shows that its node released the boxes that the ledger names."""
    bound, sealed = _of(PlanBound, log, entry.search), _of(PlanSealed, log, entry.search)
    released = _of(PlanReleased, log, entry.search)
    attempts = {
        *(event.attempt for event in bound),
        *(event.attempt for event in sealed),
        *(event.attempt for event in released),
    }
    if any(str(attempt) != entry.attempt for attempt in attempts):
        raise LogError("a node was bound to another plan than the ledger says")
    known = [None if heads is None else (heads.commitments, heads.boxes) for heads in entry.heads]
    roots = {root for heads in entry.heads if heads is not None for root in heads.commitments}
    for event in sealed:
        away = None in known and roots.issuperset(event.commitments)
        if (event.commitments, event.boxes) not in known and not away:
            raise LogError("a node logged other boxes, or other parts of the plan, than the ledger")
    for release in released:
        named = [None if heads is None else heads.boxes for heads in entry.heads]
        pairs = zip(release.boxes, named, strict=True)
        if any(said and name and said != name for said, name in pairs):
            raise LogError("a node heard of other boxes of a peer than the ledger names")
        if not sealed or sealed[0].boxes not in release.boxes:
            raise LogError("a node released boxes that it was not bound to before")
        if not any(is_hash_of(release, each) for each in _values(agreement, entry)):
            raise LogError("a node logged another part of the value than the ledger keeps")
    return bool(released)


def _values(agreement: Agreement, entry: OwnersPlan) -> list[list[bytes]]:
    """The hashes of what each node sent of the value, also of one whose part was not kept."""
    whole = join_value(agreement, entry.search, entry.parts).components
    hashes = [hashlib.sha256(component).digest() for component in whole]
    if not hashes:
        return [[]]
    holders = senders_of(entry.parts)
    return [
        [hashes[c] for c in held_by(position, len(holders))] for position in range(len(holders))
    ]


def check_own_parts(opened: Sequence[OwnersPlan], seen: Seen, /) -> None:
    """What a participant put its rows together from must be what the nodes were bound to."""
    for search in sorted({*seen, *(entry.search for entry in opened)}):
        by_node = seen.get(search, {})
        entries = [entry for entry in opened if entry.search == search]
        for node, heads in by_node.items():
            if not any(entry.heads[node] in (heads, None) for entry in entries):
                raise LogError(
                    f"node {node} is bound to other parts of the plan than your box was: it lies, "
                    "or the platform does; keep the box"
                )
        for entry in entries:
            named = {node for node, heads in enumerate(entry.heads) if heads is not None}
            if missing := named - set(by_node):
                raise LogError(
                    f"node {min(missing)} sealed a part of the plan for you, and the platform "
                    "brings no box of it that fits; ask the operator for it"
                )
