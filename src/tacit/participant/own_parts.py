"""One's own part of a plan that is for its owners: fetched, opened and put together here.

The platform brings the boxes and can open none. What binds each node to its box is kept in the
profile: `tacit participant log` compares it with the nodes' logs.
"""

from __future__ import annotations

import msgspec

from tacit.agreement import (
    Agreement,
    CarriedPart,
    OwnPart,
    PlanHeads,
    put_together,
)
from tacit.client import PlatformClient
from tacit.errors import PlatformError, TrustError, UnreadableError
from tacit.participant.account.profile import Profile

Seen = dict[int, dict[int, PlanHeads]]
"""Per search and node, what the boxes are bound to."""


def fetch_own_parts(
    profile: Profile, client: PlatformClient, run: str, agreement: Agreement, /
) -> list[OwnPart]:
    """One's own part of each plan of a run, or a `SealError` that says which node's does not fit.

    Nothing is put together from boxes other than those that this machine has opened before.
    """
    try:
        carried = client.runs.parts(run)
        searches = [[_part(each) for each in parts] for parts in carried.searches]
    except (UnreadableError, ValueError) as error:
        raise PlatformError(
            f"the platform does not bring the boxes with your part of the plan ({error}); ask its "
            "operator"
        ) from None
    plans = agreement.sealed_plans
    if len(searches) != plans:
        raise PlatformError(
            f"the platform brings boxes of {len(searches)} plans, and {plans} "
            "were agreed on; ask its operator"
        )
    key = profile.keys().signing
    found = [
        put_together(agreement, search, profile.account, parts, key=key)
        for search, parts in enumerate(searches)
    ]
    keep_seen(profile, run, {search: own.heads for search, own in enumerate(found)})
    return found


def _part(carried: msgspec.Struct) -> CarriedPart:
    fields = msgspec.structs.asdict(carried)
    hashes = [bytes.fromhex(each) for each in fields.pop("box_hashes")]
    return CarriedPart(**fields, box_hashes=hashes)


def seen_before(profile: Profile, run: str, /) -> Seen:
    """What the boxes were bound to that this machine has opened."""
    data = profile.own_heads(run)
    return {} if data is None else msgspec.json.decode(data, type=Seen)


def keep_seen(profile: Profile, run: str, seen: Seen, /) -> None:
    """Remember what the boxes are bound to; other ones in their place are refused."""
    before = seen_before(profile, run)
    for search, by_node in seen.items():
        for node, heads in by_node.items():
            if before.get(search, {}).get(node, heads) != heads:
                raise TrustError(
                    f"node {node} has sealed another part of the plan for you than before, which a "
                    "node does once; keep both, and ask the operators"
                )
    merged = {search: {**before.get(search, {}), **by_node} for search, by_node in seen.items()}
    profile.keep_own_heads(run, msgspec.json.encode({**before, **merged}))
