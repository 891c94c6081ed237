"""Put together what nodes sent into a payload: as it arrives, and again when it is checked.

Most disclosures are received in a session (`receive_payload`). Plans of sealed searches come as
shares in the nodes' replies (`join_parts`). With three nodes each component of a plan has two
holders, and where both have sent it, it must be the same. With four it has three, of whom two must
say the same: so one that lies changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.plan_parts import PlanHeads
from tacit.agreement.terms import Agreement
from tacit.errors import AbortError, LogError, PeerError
from tacit.mpc import (
    Session,
    Spec,
    collect,
    collect_front,
    collect_pareto,
    from_ring,
    held_by,
    receive_again,
)
from tacit.mpc.assignment import bound_of, hear_finished
from tacit.records.ledger import (
    Disclosed,
    DisclosedBest,
    DisclosedFront,
    DisclosedLabels,
    DisclosedPlan,
    DisclosedProof,
    DisclosedToOwners,
    DisclosureKind,
    Parts,
    Payload,
)

OUTCOMES = ("feasible", "optimum")
"""What is said of the plan of an assignment: not proved, or proved to be the best."""


async def receive_payload(
    session: Session, agreement: Agreement, kind: DisclosureKind, about: int, candidates: int, /
) -> Payload:
    """The coordinator's side of a computation: receive what the nodes disclose.

    `candidates` is how many there are, where it is about candidates.
    """
    match kind:
        case DisclosureKind.LABELS:
            return await receive_labels(session, agreement, about, candidates)
        case DisclosureKind.BEST:
            return await receive_best(session, agreement, about, candidates)
        case DisclosureKind.FRONT:
            return await receive_front(session, agreement, candidates)
        case DisclosureKind.PROVED:
            return await receive_proof(session)
        case _:
            raise ValueError(f"{kind} is not computed in a session")


async def receive_labels(
    session: Session, agreement: Agreement, objective: int, candidates: int, /
) -> DisclosedLabels:
    terms = agreement.objectives[objective]
    if terms.together:
        widths = agreement.pareto_widths(candidates)
        found = await collect_pareto(session, spec=terms.spec, widths=widths)
    else:
        found = await collect(
            session,
            candidates,
            spec=terms.spec,
            bound=agreement.fitness_bound(objective),
            best="value" if terms.spec.kind == "none" else terms.best,
        )
    best = found.best_value if found.improved is None else found.improved
    return DisclosedLabels([int(label) for label in found.labels], best)


async def receive_best(
    session: Session, agreement: Agreement, objective: int, candidates: int, /
) -> DisclosedBest:
    found = await collect(
        session,
        candidates,
        spec=Spec.parse("top:1"),
        bound=agreement.fitness_bound(objective),
        best="nothing",
    )
    best = np.flatnonzero(found.labels)
    if len(best) != 1:
        raise AbortError("the nodes", "revealed none or several as the best plan")
    return DisclosedBest(candidates, int(best[0]))


async def receive_front(
    session: Session, agreement: Agreement, candidates: int, /
) -> DisclosedFront:
    widths = agreement.pareto_widths(candidates)
    front = await collect_front(session, widths, values=agreement.front == "values")
    values = None if front.values is None else front.values.tolist()
    return DisclosedFront(candidates, front.nondominated.tolist(), values)


async def receive_proof(session: Session, /) -> DisclosedProof:
    return DisclosedProof(await hear_finished(session))


@dataclass(frozen=True, slots=True)
class FromParts:
    """What the parts of a ledger's entry come to."""

    payload: Payload
    sent: dict[int, list[tuple[int, list[bytes]]]]
    """What each node sent, also one whose part of a plan was not kept: others sent all of it."""


def payload_from_parts(agreement: Agreement, entry: Disclosed, /) -> FromParts:
    """Put the parts of an entry together again; a `LogError` if they do not fit."""
    if len(entry.parts) != len(agreement.nodes):
        raise LogError(
            f"the ledger has not kept what the nodes sent for {entry.words}; without it nothing is "
            "confirmed"
        )
    try:
        # Plans are joined from shares in replies; everything else is received again as in its
        # session.
        if entry.kind.opens_plan:
            return _plan_from_parts(agreement, entry)
        return FromParts(_received_again(agreement, entry), dict(enumerate(entry.parts)))
    except (AbortError, PeerError, ValueError, LookupError) as error:
        raise LogError(
            f"the parts of {entry.words} in the ledger do not fit ({error}); the platform changed "
            "them"
        ) from None


def _received_again(agreement: Agreement, entry: Disclosed) -> Payload:
    match entry.payload:
        case DisclosedLabels():
            candidates = len(entry.payload.labels)
        case DisclosedBest() | DisclosedFront():
            candidates = entry.payload.candidates
        case _:
            candidates = 0
    if entry.kind is not DisclosureKind.PROVED and candidates < 1:
        raise LogError(f"the ledger has {entry.words} without any candidates; it was changed")

    def receive(session: Session) -> Awaitable[Payload]:
        return receive_payload(session, agreement, entry.kind, entry.about, candidates)

    # Three nodes that went on have other places in their session than four.
    parts = [dict(part) for node, part in enumerate(entry.parts) if node != entry.without]
    return receive_again(parts, receive)


def _plan_from_parts(agreement: Agreement, entry: Disclosed) -> FromParts:
    payload = entry.payload
    # What binds the nodes to the boxes of a plan for owners is compared with their logs.
    heads = payload.heads if isinstance(payload, DisclosedToOwners) else None
    # Each holder sent all its components, also one whose part was not kept: its log has the hash of
    # them.
    joined = join_plan(agreement, entry.about, entry.parts, for_owners=heads is not None)
    made = joined.payload(heads)
    holders = senders_of(entry.parts)
    whole = joined.components
    sent = {
        node: [(0, [whole[c] for c in held_by(position, len(holders))] if whole else [])]
        for position, node in enumerate(holders)
    }
    return FromParts(made, sent)


@dataclass(frozen=True, slots=True)
class SealedPlan:
    """What is opened of one plan of a sealed run."""

    plan: list[int]
    """Empty where it is for its owners, and their keys are not here."""
    value: int | None = None
    """Where the agreement discloses it."""
    step: int = 0
    """After so many steps it was opened."""
    outcome: str | None = None
    """What is proved, of an assignment."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where the agreement discloses that."""
    components: list[bytes] = field(default_factory=list)
    """All components of what was opened, where nodes have sent them."""

    def payload(
        self, heads: Sequence[PlanHeads | None] | None = None, /
    ) -> DisclosedPlan | DisclosedToOwners:
        """Return what is disclosed; `heads` bind the nodes, where the plan is for its owners."""
        words = self.value, self.outcome, self.gap
        if heads is None:
            return DisclosedPlan(self.plan, *words)
        return DisclosedToOwners([*heads], *words)


def join_plan(
    agreement: Agreement, search: int, parts: Parts, /, *, for_owners: bool
) -> SealedPlan:
    """Put together what nodes sent of a plan; of one for its owners that is its value alone."""
    return (join_value if for_owners else join_parts)(agreement, search, parts)


def join_parts(agreement: Agreement, search: int, parts: Parts, /) -> SealedPlan:
    """Add up the nodes' parts; an `AbortError` names the node whose part does not fit."""
    heads = agreement.sealed_run.opened_heads
    whole = _joined(agreement, search, parts, words=agreement.problem.rows + heads)
    values = _sum(agreement, search, whole)
    read = _read_heads(agreement, search, values[:heads])
    # Parts that fit each other may still be wrong, if a node computed wrongly before.
    if not agreement.known_problem.have_the_form(values[None, heads:]):
        raise AbortError("the nodes", "opened something that is not a plan")
    plan = [int(item) for item in values[heads:]]
    return replace(read, components=whole, plan=plan)


def join_value(agreement: Agreement, search: int, parts: Parts, /) -> SealedPlan:
    """Return what is disclosed of a plan for its owners: its value, and what is proved."""
    heads = agreement.sealed_run.opened_heads
    if not heads:
        if any(sent for each in parts for _, sent in each):
            raise AbortError("the nodes", "sent a value where none is disclosed")
        return SealedPlan([])
    whole = _joined(agreement, search, parts, words=heads)
    read = _read_heads(agreement, search, _sum(agreement, search, whole))
    return replace(read, components=whole)


def _read_heads(agreement: Agreement, search: int, heads: NDArray[np.int64]) -> SealedPlan:
    """Read the words before a plan: its value, what is proved, and the gap, as agreed."""
    run = agreement.sealed_run
    group = run.group_of(search)
    value = group.value_of(search, int(heads[0])) if run.opens_value else None
    if not run.is_exact:
        return SealedPlan([], value)
    proved, *rung = (int(head) for head in heads[run.opens_value :])
    if proved not in range(len(OUTCOMES)):
        raise AbortError("the nodes", "opened something that is not an outcome")
    if not rung:
        return SealedPlan([], value, outcome=OUTCOMES[proved])
    top = len(group.ladder) - 1
    # The last rung is a gap of 0, which is the same as a proof.
    if not 0 <= rung[0] <= top or (rung[0] == top) != bool(proved):
        raise AbortError("the nodes", "opened a gap that does not fit what is proved")
    gap = bound_of(rung[0], group.ladder)
    return SealedPlan([], value, outcome=OUTCOMES[proved], gap=gap)


def _sum(agreement: Agreement, search: int, whole: list[bytes]) -> NDArray[np.int64]:
    word = agreement.sealed_run.group_of(search).word
    return from_ring(np.sum([np.frombuffer(p, dtype=word) for p in whole], axis=0, dtype=word))


def _joined(agreement: Agreement, search: int, parts: Parts, *, words: int) -> list[bytes]:
    """Return all components, of so many words each, as their holders agree on them."""
    size = words * agreement.sealed_run.group_of(search).word.itemsize
    senders = senders_of(parts)
    nodes = len(senders)
    # Each component has several holders. Nothing is added up before enough of them say the same.
    said: list[Counter[bytes]] = [Counter() for _ in range(nodes)]
    for position, node in enumerate(senders):
        sent = parts[node][0][1] if parts[node] else []
        if sent and [len(part) for part in sent] != [size] * (nodes - 1):
            # Of three nodes none is outvoted: a part that does not fit is that node's fault.
            if _needed(nodes) == 1:
                raise AbortError(f"node {node}", "sent something that is not part of a plan")
            continue  # it is outvoted, like one that sends other numbers
        for number, part in zip(held_by(position, nodes), sent, strict=False):
            said[number][part] += 1
    return [_agreed(each, nodes) for each in said]


def senders_of(parts: Parts, /) -> list[int]:
    """Return the nodes that hold a plan: all, or of four the three that went on without one."""
    sent = {node: len(each[0][1]) for node, each in enumerate(parts) if each}
    lost_one = len(sent) == len(parts) - 1 and {*sent.values()} == {len(parts) - 2}
    return [node for node in range(len(parts)) if node in sent or not lost_one]


def _needed(nodes: int) -> int:
    # One more than may lie: of three nodes none may, of four one.
    return nodes - 2


def _agreed(said: Counter[bytes], nodes: int) -> bytes:
    # One more holder than may lie must say the same, and fewer may say anything else.
    ranked = [*said.most_common(2), (b"", 0), (b"", 0)]
    (part, votes), (_, others) = ranked[:2]
    if votes < _needed(nodes):
        raise AbortError("the nodes", f"sent too few parts of the plan; {nodes - 1} nodes send all")
    if votes == others:
        raise AbortError("the nodes", "opened different plans; one of them lies")
    return part
