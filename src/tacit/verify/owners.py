"""Whether one plan was opened to its owners: from what binds the nodes to their parts and boxes.

Nothing of a plan is in logs and ledger. What they show is that all nodes were bound to one plan,
to the same components of it and to their lists of boxes, before any box left a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tacit.agreement import Agreement, PlanHeads
from tacit.errors import LogError
from tacit.mpc import held_by, left_without
from tacit.records import (
    Disclosed,
    DisclosedToOwners,
    HeardBoxes,
    Kind,
    Log,
    PlanBound,
    PlanSealed,
    Sent,
    events_of,
)
from tacit.verify.nodes import lost_by

Seen = Mapping[int, Mapping[int, PlanHeads]]
"""Per search and node, what a participant's boxes were bound to."""


def check_boxes(agreement: Agreement, logs: Sequence[Log], ledger: Iterable[Disclosed], /) -> None:
    """What binds the nodes to a plan for its owners must be the same in the ledger and all logs."""
    for entry in ledger:
        if isinstance(entry.payload, DisclosedToOwners):
            _check_heads(agreement, logs, entry, entry.payload.heads)
            for log in logs:
                _check_releases(log, entry, entry.payload.heads)


def _check_heads(
    agreement: Agreement,
    logs: Sequence[Log],
    entry: Disclosed,
    heads_of_nodes: Sequence[PlanHeads | None],
) -> None:
    """Holders of a component must be bound to the same."""
    nodes = len(agreement.nodes)
    if len(heads_of_nodes) != nodes:
        raise LogError(f"the ledger has not kept what binds the nodes to {entry.words}")
    lost = next((node for log in logs if (node := lost_by(log)) is not None), None)
    roots: dict[int, tuple[int, str]] = {}
    for node, heads in enumerate(heads_of_nodes):
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


def _check_releases(log: Log, entry: Disclosed, heads_of_nodes: Sequence[PlanHeads | None]) -> None:
    """A node must have released the boxes that the ledger names, and been bound to them before."""
    bound = [event for event in events_of(PlanBound, log) if event.search == entry.about]
    sealed = [event for event in events_of(PlanSealed, log) if event.search == entry.about]
    attempts = {each.attempt for each in bound} | {each.attempt for each in sealed}
    if attempts - {entry.attempt}:
        raise LogError("a node was bound to another plan than the ledger says")
    known = [None if each is None else (each.commitments, each.boxes) for each in heads_of_nodes]
    roots = {root for heads in heads_of_nodes if heads is not None for root in heads.commitments}
    for event in sealed:
        away = None in known and roots.issuperset(event.commitments)
        if (event.commitments, event.boxes) not in known and not away:
            raise LogError("a node logged other boxes, or other parts of the plan, than the ledger")
    named = [None if heads is None else heads.boxes for heads in heads_of_nodes]
    for line in events_of(Sent, log):
        if line.kind is not Kind.OWNERS_PLAN or line.about != entry.about:
            continue
        heard = line.known.boxes if isinstance(line.known, HeardBoxes) else []
        pairs = zip(heard, named, strict=True)
        if any(said and name and said != name for said, name in pairs):
            raise LogError("a node heard of other boxes of a peer than the ledger names")
        if not sealed or sealed[0].boxes not in heard:
            raise LogError("a node released boxes that it was not bound to before")


def check_own_parts(ledger: Iterable[Disclosed], seen: Seen, /) -> None:
    """What a participant put its rows together from must be what the nodes were bound to."""
    heads_by_search: dict[int, list[Sequence[PlanHeads | None]]] = {search: [] for search in seen}
    for entry in ledger:
        if isinstance(entry.payload, DisclosedToOwners):
            heads_by_search.setdefault(entry.about, []).append(entry.payload.heads)
    for search, opened in sorted(heads_by_search.items()):
        by_node = seen.get(search, {})
        for node, heads in by_node.items():
            if not any(each[node] in (heads, None) for each in opened):
                raise LogError(
                    f"node {node} is bound to other parts of the plan than your box was: it lies, "
                    "or the platform does; keep the box"
                )
        for each in opened:
            named = {node for node, heads in enumerate(each) if heads is not None}
            if missing := named - set(by_node):
                raise LogError(
                    f"node {min(missing)} sealed a part of the plan for you, and the platform "
                    "brings no box of it that fits; ask the operator for it"
                )
