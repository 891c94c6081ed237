"""Whether the nodes froze what the participants sealed, above all what this machine did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.agreement import Agreement, Manifest, manifests_digest, read_manifest
from tacit.errors import LogError, SealError
from tacit.records import InputTaken, Log, frozen_inputs

Manifests = Mapping[tuple[str, int], tuple[str, str]]
"""Per participant and objective, a manifest and its signature in hexadecimal."""


def check_inputs(
    agreement: Agreement,
    logs: Sequence[Log],
    shown: Manifests,
    participant: str,
    own: Mapping[int, Sequence[bytes]],
    /,
) -> str:
    """Compare the frozen inputs of all nodes with the manifests that the platform shows.

    `own` are the manifests that this machine made, per objective, in their order. An auditor takes
    part in nothing: `participant` is empty then.
    """
    frozen = [frozen_inputs(agreement, log) for log in logs]
    if not any(frozen):
        return "no inputs are frozen yet"
    known = True
    for objective in agreement.confidential():
        common = frozen[0].get(objective)
        if common is None or any(each.get(objective) != common for each in frozen):
            raise LogError(
                f"the nodes did not freeze the same inputs of objective {objective}; the result "
                "means nothing, ask their operators"
            )
        manifests = _manifests(agreement, shown, objective)
        digest = manifests_digest(data for data, _ in manifests.values())
        if common.manifests != digest:
            raise LogError(
                f"the nodes froze other inputs of objective {objective} than the manifests that "
                "the platform shows; it hides whose rows were used"
            )
        if participant in manifests:
            known = _check_own(manifests[participant], own.get(objective, ()), logs) and known
    same = "all nodes froze the same inputs, signed by their owners"
    if not participant:
        return same
    whose = "yours are as this machine sealed them" if known else "yours were sealed elsewhere"
    return f"{same}; {whose}"


def _manifests(
    agreement: Agreement, shown: Manifests, objective: int
) -> dict[str, tuple[bytes, Manifest]]:
    """The signed manifests of an objective in the agreement's order of owners."""
    found = {}
    for owner in agreement.objectives[objective].owners:
        who = owner.participant
        if (who, objective) not in shown:
            raise LogError(f"the platform shows no manifest of {who!r}; ask its operator for it")
        try:
            data, signature = (bytes.fromhex(each) for each in shown[who, objective])
            manifest = read_manifest(agreement, data, signature)
        except (SealError, ValueError) as error:
            raise LogError(f"the manifest of {who!r} does not hold: {error}") from None
        if (manifest.participant, manifest.objective) != (who, objective):
            raise LogError(f"the manifest shown for {who!r} is of somebody or something else")
        found[who] = (data, manifest)
    return found


def _check_own(frozen: tuple[bytes, Manifest], own: Sequence[bytes], logs: Sequence[Log]) -> bool:
    """Whether our latest rows are in use; False if this machine has sealed none."""
    data, manifest = frozen
    for node, log in enumerate(logs):
        boxes = [
            event.box
            for event in log
            if isinstance(event, InputTaken)
            and (event.participant, event.objective) == (manifest.participant, manifest.objective)
        ]
        if not boxes or boxes[-1] != manifest.boxes[node]:
            raise LogError(f"node {node} took in another box than your manifest names")
    if not own:
        return False
    if data != own[-1]:
        when = "an earlier submission of yours" if data in own else "rows that it did not seal"
        raise LogError(
            f"the nodes use {when} and not what this machine sealed last; tell the others, and "
            "whoever has your key"
        )
    return True
