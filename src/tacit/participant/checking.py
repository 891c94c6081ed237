"""Check after a run whether nodes and platform did what was signed.

The nodes' logs show it, and the platform that carries them can neither forge nor withhold a line of
them unseen. An audit bundle is checked offline against what this machine signed, sealed and kept.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace

from tacit.agreement import Agreement, canonical
from tacit.client import CarriedLog, CarriedLogs, PlatformClient, RunResult
from tacit.errors import LogError, PlatformError, SealError, TrustError
from tacit.participant.profile import Profile
from tacit.participant.receipts import Seen, check_receipts, fetch_own_parts, seen_before
from tacit.participant.results import with_shown
from tacit.participant.reviewing import clock_warnings, fetch_public_problem
from tacit.participant.series_records import keep_balance
from tacit.plain_text import plain_line
from tacit.records import Log, NodeReturned, RequestFailed, RequestRefused, check_log, read_ledger
from tacit.verify import (
    Bundle,
    ClaimedResult,
    Finding,
    Verdict,
    bundled_logs,
    check_evidence,
    check_inputs,
    check_rest,
    check_run,
    claim_of,
    describe_loss,
    read_bundle,
)

ENDED = ("finished", "interrupted", "failed", "cancelled")


def check_logs(profile: Profile, run: str, /) -> Verdict:
    """Fetch the nodes' logs for a fresh nonce, and check everything that they can show."""
    nonce = secrets.token_bytes(32)
    with profile.connect() as client:
        outcome = client.runs.result(run)
        agreement = _own_agreement(profile, run, outcome.state)
        if outcome.state not in ENDED:
            # Until its end something may always be on its way, so that nothing counts as missing.
            raise PlatformError(
                f"{run} is {plain_line(outcome.state)}, says the platform, and can be checked when "
                "it has ended; if it should have by now, ask the others what they see"
            )
        # The ledger comes first: whatever it has must then be in the logs. The other way round an
        # answer disclosed in between would be in the ledger alone and look forged.
        data = client.runs.ledger(run)
        ledger = read_ledger(data)
        carried = client.runs.logs(run, nonce)
        now, offset = time.time(), client.clock_offset
        public = fetch_public_problem(client, run, agreement)
        own_seen, own_trouble = _own_parts(profile, client, run, agreement, outcome)
    verdict = Verdict(run, outcome.state)
    verdict.notes.extend(clock_warnings("the platform", offset))
    logs = _verified_logs(profile, agreement, carried, nonce, verdict)
    for each in carried.logs:
        # A node's seconds are cut off as well.
        verdict.notes.extend(clock_warnings(f"node {each.node}", each.seconds + 0.5 - now))
    # Without all logs an answer cannot be compared, so nothing else is said to be in order.
    if len(logs) == len(agreement.nodes):
        own = _own_manifests(profile, run, agreement)
        manifests = {
            (each.participant, each.objective): (each.manifest, each.signature)
            for each in carried.manifests
        }
        verdict.findings.append(
            Finding.of("inputs", check_inputs, agreement, logs, manifests, profile.account, own)
        )
        claim = with_shown(profile, run, ClaimedResult.of(outcome).claim())
        if agreement.for_owners:
            claim = replace(claim, own_parts=own_seen, own_trouble=own_trouble)
        verdict.findings.extend(check_run(agreement, logs, ledger, claim, public=public))
        verdict.notes.extend([*_refusals(logs), *_mismatches(logs)])
        proven = Finding.of("evidence", check_evidence, agreement, logs)
        if not proven.ok:
            verdict.findings.append(proven)
        elif proven.detail:
            verdict.notes.append(proven.detail)
        verdict.notes.extend(_keep_balance(profile, agreement, logs, verdict))
        if words := describe_loss(logs):
            verdict.notes.append(words)
    return verdict


def _own_agreement(profile: Profile, run: str, state: str) -> Agreement:
    """The agreement that this machine signed, without which nothing of its owner is at stake."""
    if profile.signed_agreement(run) is None and state in ("cancelled", "failed"):
        raise PlatformError(
            f"{run} is {plain_line(state)}, and this machine has signed and sealed nothing for it: "
            "there is nothing of yours to check here"
        )
    return profile.need_signed_agreement(run)


def _keep_balance(
    profile: Profile, agreement: Agreement, logs: Sequence[Log], verdict: Verdict
) -> list[str]:
    """Keep the head of a run that counts, unless the logs contradict each other about it.

    A run whose plan was never opened counts, too, and the next run follows it.
    """
    found = [each for each in verdict.findings if each.about == "balances"]
    if not all(each.ok or each.unproven for each in found):
        return []
    return keep_balance(profile, verdict.run, agreement, logs)


def _own_parts(
    profile: Profile, client: PlatformClient, run: str, agreement: Agreement, outcome: RunResult
) -> tuple[Seen, str]:
    """Fetch what binds the nodes to our part of a plan for its owners, or why we have none."""
    if not agreement.for_owners or not outcome.for_owners:
        return {}, ""
    try:
        found = fetch_own_parts(profile, client, run, agreement)
    except (PlatformError, SealError, TrustError) as error:
        return {}, str(error)
    return {search: own.heads for search, own in enumerate(found)}, ""


def _verified_logs(
    profile: Profile, agreement: Agreement, carried: CarriedLogs, nonce: bytes, verdict: Verdict
) -> list[Log]:
    """Return the logs that are whole, of this agreement, and signed for our question."""
    by_node = {each.node: each for each in carried.logs}
    logs: list[Log] = []

    def verify(node: int) -> str:
        if node not in by_node:
            raise LogError(
                f"the platform brings no log of node {node}; ask again, then ask its operator"
            )
        events = _verify(agreement, node, by_node[node], nonce)
        kept = check_receipts(profile, verdict.run, by_node[node])
        logs.append(events)
        said = f"node {node}: {len(events)} lines, unbroken, signed for this question"
        return f"{said}, with all {kept} receipts that were kept here" if kept else said

    for node in range(len(agreement.nodes)):
        verdict.findings.append(Finding.of(f"log of node {node}", verify, node))
    return logs


def _verify(agreement: Agreement, node: int, carried: CarriedLog, nonce: bytes) -> Log:
    # The nonce was drawn for this question, so that no earlier log passes for the present one.
    if carried.nonce != nonce.hex():
        raise LogError(
            f"node {node}: this log answers another question than ours; the platform shows an old "
            "one"
        )
    try:
        signature = bytes.fromhex(carried.signature)
    except ValueError:
        signature = b""
    try:
        return check_log(
            agreement,
            node,
            carried.log,
            nonce=nonce,
            seconds=carried.seconds,
            signature=signature,
        )
    except LogError as error:
        raise LogError(f"node {node}: {error}") from None


def _mismatches(logs: Sequence[Log]) -> list[str]:
    """Name the nodes of which one lies: one was sent what another did not vouch for."""
    found = {
        (node, event.peer, event.voucher): None
        for node, log in enumerate(logs)
        for event in log
        if isinstance(event, RequestFailed) and event.voucher and not event.evidence
    }
    # What three left was not checked, so that honest nodes may differ when the fourth is back.
    back = any(isinstance(event, NodeReturned) for log in logs for event in log)
    earlier = ", or one of those did that computed alone before" if back else ""
    return [
        f"node {node} says that {sender} sent it something else than {voucher} vouched for: one of "
        f"these three departs from the protocol{earlier}; nothing was computed from it"
        for node, sender, voucher in found
    ]


def _refusals(logs: Sequence[Log]) -> list[str]:
    """Requests that the nodes refused: worth a look, but no proof of anything."""
    notes = []
    for node, log in enumerate(logs):
        refused = [event for event in log if isinstance(event, RequestRefused)]
        count = sum(1 + event.left_out for event in refused)
        if refused:
            notes.append(f"node {node} refused {count} requests, the first: {refused[0].reason}")
    return notes


NOT_OPENED = "this machine has not opened its part of the plan; run tacit participant result first"


def check_bundle_here(profile: Profile, data: bytes, /) -> Verdict:
    """Check everything that a bundle shows, without the platform.

    It has the logs as of its creation: `check_logs` asks the nodes again.
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
    # Without all logs an answer cannot be compared, so nothing is said to be in order.
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
