"""Keep what nodes sign and seal for a participant, as evidence against them.

A receipt is the head of a node's log, signed by the node for whoever asks. Kept here, it is out of
reach of nodes and platform: a log that no longer contains it was set back, even if all nodes were.

Parts of a plan for its owners are fetched, opened and put together here. The platform brings the
boxes and can open none. What binds each node to its box is kept, to compare it with the logs.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tacit.agreement import Agreement, CarriedPart, OwnPart, PlanHeads, put_together
from tacit.client import CarriedLog, PlatformClient
from tacit.errors import LogError, PlatformError, TrustError, UnreadableError
from tacit.participant.profile import Profile
from tacit.records import is_head_signed, line_hash

RECEIPTS, OWN_HEADS = "receipts.jsonl", "parts.json"
Seen = dict[int, dict[int, PlanHeads]]
"""Per search and node, what the boxes are bound to."""


def _is_signed(head: CarriedLog, agreement: Agreement) -> bool:
    """Return whether the node that the agreement names has signed this head of its log."""
    try:
        nonce, signature = bytes.fromhex(head.nonce), bytes.fromhex(head.signature)
    except ValueError:
        return False
    return head.node in range(len(agreement.nodes)) and is_head_signed(
        agreement, head.node, head.head, nonce=nonce, seconds=head.seconds, signature=signature
    )


def fetch_receipts(profile: Profile, client: PlatformClient, run: str, /) -> int:
    """Ask the nodes for the heads of their logs, and keep those that are signed; how many are.

    Returns 0 if the platform cannot bring them yet; the caller asks again later.
    """
    agreement = profile.signed_agreement(run)
    if agreement is None:
        return 0
    # Each question has a nonce of its own, so that no old answer passes for new.
    nonce = secrets.token_bytes(32)
    try:
        carried = client.runs.logs(run, nonce, heads_only=True)
    except PlatformError:
        return 0
    # Our own nonce in place of the one in the answer: the signature must hold for what was asked.
    heads = [replace(each, log=b"", nonce=nonce.hex()) for each in carried.logs]
    signed = [each for each in heads if _is_signed(each, agreement)]
    keep_receipts(profile, run, signed)
    return len({each.node for each in signed})


def receipts_words(profile: Profile, run: str, count: int, /) -> str:
    """Say how many nodes' receipts were kept, and what they are for."""
    agreement = profile.signed_agreement(run)
    if agreement is not None and count == len(agreement.nodes):
        return f"kept receipts of all {count} nodes; tacit participant log {run} compares them"
    return f"kept receipts of {count} nodes; ask again later, so that a lost log is noticed"


def receipts(profile: Profile, run: str, /) -> list[CarriedLog]:
    """All heads that were kept, the oldest first."""
    lines = (profile.read(run, RECEIPTS) or b"").splitlines()
    try:
        return [msgspec.json.decode(line, type=CarriedLog) for line in lines]
    except msgspec.DecodeError as error:
        raise LogError(f"the receipts kept for {run} were changed ({error}); remove them") from None


def keep_receipts(profile: Profile, run: str, new: Iterable[CarriedLog], /) -> None:
    """Keep receipts, each head of a node once."""
    kept = receipts(profile, run)
    known = {(each.node, each.head) for each in kept}
    kept += [each for each in new if (each.node, each.head) not in known]
    if len(kept) > len(known):
        lines = [msgspec.json.encode(each) + b"\n" for each in kept]
        profile.keep(run, RECEIPTS, b"".join(lines))


def check_receipts(
    profile: Profile, run: str, carried: CarriedLog, /, *, until: int | None = None
) -> int:
    """Check that a verified log contains all heads that were kept of it; returns how many.

    Its own head is kept as well. Of an old log only receipts `until` then are looked for.
    """
    # A node whose disk was set back signs a shorter log that is whole in itself. Only somebody who
    # has kept a later head can tell, even if all nodes were set back together.
    lines = carried.log.splitlines()
    heads = {line_hash(line) for line in lines}
    kept = [
        each
        for each in receipts(profile, run)
        if each.node == carried.node and (until is None or each.seconds <= until)
    ]
    for receipt in kept:
        if receipt.head not in heads:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(receipt.seconds))
            raise LogError(
                f"node {carried.node}: the log lacks what the node signed on {when}: its disk was "
                "set back, and what it did since then may have been done twice; tell the others, "
                "and do not give these costs to another run"
            )
    if lines:
        keep_receipts(profile, run, [replace(carried, log=b"", head=line_hash(lines[-1]))])
    return len(kept)


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
    """Read what the boxes were bound to that this machine has opened."""
    data = profile.read(run, OWN_HEADS)
    return {} if data is None else msgspec.json.decode(data, type=Seen)


def keep_seen(profile: Profile, run: str, seen: Seen, /) -> None:
    """Remember what the boxes are bound to, and refuse other ones in their place."""
    before = seen_before(profile, run)
    for search, by_node in seen.items():
        for node, heads in by_node.items():
            # A node seals its part once: a second box could hold a part of another plan.
            if before.get(search, {}).get(node, heads) != heads:
                raise TrustError(
                    f"node {node} has sealed another part of the plan for you than before, which a "
                    "node does once; keep both, and ask the operators"
                )
    merged = {search: {**before.get(search, {}), **by_node} for search, by_node in seen.items()}
    profile.keep(run, OWN_HEADS, msgspec.json.encode({**before, **merged}))
