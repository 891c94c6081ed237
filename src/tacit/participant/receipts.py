"""Receipts of the nodes: the heads of their logs, kept on a participant's own machine.

A node signs the head of its log for whoever asks. Kept here, it is out of reach of nodes and
platform: a log that no longer contains it was set back, even if all nodes were.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

import msgspec

from tacit.agreement import Agreement
from tacit.client import CarriedLog, PlatformClient
from tacit.errors import LogError, PlatformError
from tacit.participant.account.profile import Profile
from tacit.records import is_head_signed, line_hash


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of a node's log at a time, with the node's signature as evidence."""

    node: int
    head: str
    seconds: int
    nonce: str
    signature: str

    def is_signed(self, agreement: Agreement) -> bool:
        """Whether the node that the agreement names has signed it."""
        try:
            nonce, signature = bytes.fromhex(self.nonce), bytes.fromhex(self.signature)
        except ValueError:
            return False
        return self.node in range(len(agreement.nodes)) and is_head_signed(
            agreement, self.node, self.head, nonce=nonce, seconds=self.seconds, signature=signature
        )


def fetch_receipts(profile: Profile, client: PlatformClient, run: str, /) -> int:
    """Ask the nodes for the heads of their logs, and keep those that are signed; how many are.

    None where the platform cannot say yet: whoever needs them asks again later.
    """
    agreement = profile.signed_agreement(run)
    if agreement is None:
        return 0
    nonce = secrets.token_bytes(32)
    try:
        carried = client.runs.logs(run, nonce, heads_only=True)
    except PlatformError:
        return 0
    signed = [
        receipt
        for each in carried.logs
        if (receipt := _receipt(each, each.head, nonce.hex())).is_signed(agreement)
    ]
    keep_receipts(profile, run, signed)
    return len({receipt.node for receipt in signed})


def _receipt(carried: CarriedLog, head: str, nonce: str) -> Receipt:
    return Receipt(carried.node, head, carried.seconds, nonce, carried.signature)


def receipts(profile: Profile, run: str, /) -> list[Receipt]:
    """All that were kept, the oldest first."""
    try:
        return [msgspec.json.decode(line, type=Receipt) for line in profile.receipt_lines(run)]
    except msgspec.DecodeError as error:
        raise LogError(f"the receipts kept for {run} were changed ({error}); remove them") from None


def keep_receipts(profile: Profile, run: str, new: Iterable[Receipt], /) -> None:
    """Keep receipts, each head of a node once."""
    kept = receipts(profile, run)
    known = {(each.node, each.head) for each in kept}
    kept += [each for each in new if (each.node, each.head) not in known]
    if len(kept) > len(known):
        profile.keep_receipt_lines(run, [msgspec.json.encode(each) for each in kept])


def check_receipts(
    profile: Profile, run: str, carried: CarriedLog, /, *, until: int | None = None
) -> int:
    """A verified log must contain all heads that were kept of it; returns how many there are.

    Its own head is kept as well. Of an old log only receipts `until` then are looked for.
    """
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
        keep_receipts(profile, run, [_receipt(carried, line_hash(lines[-1]), carried.nonce)])
    return len(kept)
