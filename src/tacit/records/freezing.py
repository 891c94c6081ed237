"""What a log says of frozen inputs, and of the seed contribution that was drawn after them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit.agreement.contribution import commitment_to, joint_contribution
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import LogError
from tacit.records.events import InputsFrozen, SeedDrawn
from tacit.records.node_log import Log

FreezingEvent = InputsFrozen | SeedDrawn


@dataclass(frozen=True, slots=True)
class FrozenInputs:
    """The inputs of one objective that never change again."""

    manifests: str
    """The hash of all owners' manifests."""
    commitments: tuple[str, ...]
    """Of all nodes to their contributions."""
    seed_contribution: str = ""
    """What the nodes drew together for the search's seed; empty until it is drawn."""


def frozen_inputs(agreement: Agreement, log: Log, /) -> dict[int, FrozenInputs]:
    """Per objective, what was frozen; a `LogError` if it was drawn twice or against its promise."""
    found: dict[int, FrozenInputs] = {}
    for event in log:
        if isinstance(event, FreezingEvent):
            found[event.objective] = frozen_after(agreement, found.get(event.objective), event)
    return found


def frozen_after(
    agreement: Agreement, before: FrozenInputs | None, event: FreezingEvent, /
) -> FrozenInputs:
    """What is frozen of an objective after an event, or a `LogError`."""
    if isinstance(event, SeedDrawn):
        return _drawn(agreement, before, event)
    if before is not None:
        raise LogError(f"the inputs of objective {event.objective} were frozen twice; ask why")
    return FrozenInputs(event.manifests, tuple(event.commitments))


def _drawn(agreement: Agreement, frozen: FrozenInputs | None, event: SeedDrawn) -> FrozenInputs:
    if frozen is None or frozen.seed_contribution:
        raise LogError(
            f"the seed contribution of objective {event.objective} was drawn twice, or before the "
            "inputs were frozen; ask the node's operator"
        )
    digest = agreement_hash(agreement)
    try:
        opened = [bytes.fromhex(each) for each in event.contributions]
    except ValueError:
        opened = []
    committed = tuple(
        commitment_to(each, agreement=digest, objective=event.objective, node=node).hex()
        for node, each in enumerate(opened)
    )
    if committed != frozen.commitments or len(opened) != len(agreement.nodes):
        raise LogError(
            f"a node's contribution to the seed of objective {event.objective} is not the one that "
            "it had committed itself to; ask the nodes' operators"
        )
    return replace(frozen, seed_contribution=joint_contribution(opened))
