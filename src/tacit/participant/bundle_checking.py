"""An audit bundle, checked offline against what this machine signed, sealed and kept."""

from __future__ import annotations

from dataclasses import replace

from tacit.agreement import Agreement, canonical
from tacit.client import CarriedLog
from tacit.errors import TrustError
from tacit.participant.account.profile import Profile
from tacit.participant.own_parts import seen_before
from tacit.participant.receipts import check_receipts
from tacit.participant.results import with_shown
from tacit.verify import (
    Bundle,
    Finding,
    Verdict,
    bundled_logs,
    check_rest,
    claim_of,
    read_bundle,
)

NOT_OPENED = "this machine has not opened its part of the plan; run tacit participant result first"


def check_bundle_here(profile: Profile, data: bytes, /) -> Verdict:
    """Check everything that a bundle shows, without the platform.

    It shows the logs as they were when it was made: `check_logs` asks the nodes again.
    """
    bundle = read_bundle(data)
    agreement = profile.need_signed_agreement(bundle.run)
    if canonical(agreement) != bundle.agreement:
        raise TrustError(
            f"the bundle has another agreement for {bundle.run} than the one this machine signed; "
            "ask whoever gave it to you, and the operator"
        )
    verdict = Verdict(bundle.run, bundle.state)
    logs = bundled_logs(bundle, agreement, verdict)
    if len(logs) < len(agreement.nodes):
        return verdict
    verdict.findings.append(Finding.of("receipts", _receipts, profile, bundle))
    claim = with_shown(profile, bundle.run, claim_of(bundle))
    if agreement.for_owners:
        seen = seen_before(profile, bundle.run)
        trouble = NOT_OPENED if bundle.claimed().for_owners and not seen else ""
        claim = replace(claim, own_parts=seen, own_trouble=trouble)
    check_rest(
        bundle,
        agreement,
        logs,
        verdict,
        participant=profile.account,
        own=_own_manifests(profile, bundle.run, agreement),
        claim=claim,
    )
    return verdict


def _own_manifests(profile: Profile, run: str, agreement: Agreement) -> dict[int, list[bytes]]:
    return {
        k: profile.manifests(run, k)
        for k in agreement.confidential()
        if agreement.rows_of(profile.account, k)
    }


def _receipts(profile: Profile, bundle: Bundle) -> str:
    count = 0
    for each in bundle.log_signatures:
        carried = CarriedLog(
            each.node, bundle.logs[each.node], each.seconds, bundle.nonce.hex(), each.signature
        )
        # What a node signed later cannot be in it.
        count += check_receipts(profile, bundle.run, carried, until=each.seconds)
    return f"the logs have all {count} receipts that were kept here until then"
