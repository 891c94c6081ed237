"""Checks a bundle without any account: for auditors, and for whoever finds it in an archive."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.engine.agreement import Agreement, check_signatures, read_agreement
from tacit.engine.derived import with_public_weights
from tacit.engine.records import Log, check_log, read_ledger
from tacit.errors import AgreementError, LogError
from tacit.problems import Problem
from tacit.verify.bundle import Bundle
from tacit.verify.evidence import check_evidence
from tacit.verify.inputs import check_inputs
from tacit.verify.loss import describe_loss
from tacit.verify.run_check import check_run
from tacit.verify.verdict import Claim, Finding, Verdict


@dataclass(frozen=True)
class _Read:
    """A bundle with its agreement read."""

    bundle: Bundle
    agreement: Agreement

    def signed(self) -> str:
        signatures = {who: bytes.fromhex(each) for who, each in self.bundle.signatures.items()}
        try:
            check_signatures(self.agreement, signatures)
        except AgreementError as error:
            raise LogError(f"not everybody signed the agreement: {error}") from None
        names = ", ".join(each.name for each in self.agreement.participants)
        return f"the agreement is signed by {names}, with the keys that it names"


def check_bundle(bundle: Bundle, /) -> Verdict:
    """Whether everybody did what was signed, as far as a bundle shows.

    The keys of nodes and participants are those that the agreement names. Whose they are is to be
    compared with their owners: a bundle that somebody made up has keys that are nobody's.
    """
    try:
        read = _Read(bundle, read_agreement(bundle.agreement))
    except AgreementError as error:
        raise LogError(f"the bundle has no agreement that can be read: {error}") from None
    agreement = read.agreement
    verdict = Verdict(bundle.run, bundle.state)
    verdict.findings.append(Finding.of("signatures", read.signed))
    logs = bundled_logs(bundle, agreement, verdict)
    if len(logs) == len(agreement.nodes):
        check_rest(bundle, agreement, logs, verdict, participant="", own={}, claim=claim_of(bundle))
    return verdict


def claim_of(bundle: Bundle, /) -> Claim:
    """What the platform claims in a bundle."""
    return bundle.claimed().claim()


def bundled_logs(bundle: Bundle, agreement: Agreement, verdict: Verdict, /) -> list[Log]:
    """The logs that are whole, of this agreement, and signed by their nodes."""
    by_node = {each.node: each for each in bundle.log_signatures}
    logs: list[Log] = []

    def verify(node: int) -> str:
        if node not in by_node:
            raise LogError(f"the bundle has no log of node {node}; ask the operator for it")
        signed = by_node[node]
        try:
            events = check_log(
                agreement,
                node,
                bundle.logs[node],
                nonce=bundle.nonce,
                seconds=signed.seconds,
                signature=bytes.fromhex(signed.signature),
            )
        except LogError as error:
            raise LogError(f"node {node}: {error}") from None
        logs.append(events)
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(signed.seconds))
        return f"node {node}: {len(events)} lines, unbroken, signed on {when} UTC"

    for node in range(len(agreement.nodes)):
        verdict.findings.append(Finding.of(f"log of node {node}", verify, node))
    return logs


def check_rest(
    bundle: Bundle,
    agreement: Agreement,
    logs: list[Log],
    verdict: Verdict,
    /,
    *,
    participant: str,
    own: Mapping[int, list[bytes]],
    claim: Claim,
) -> None:
    """What the logs show once they are verified: inputs, search, answers, plan."""
    manifests = {
        (each.participant, each.objective): (each.manifest, each.signature)
        for each in bundle.manifests
    }
    found = verdict.findings
    found.append(Finding.of("inputs", check_inputs, agreement, logs, manifests, participant, own))
    try:
        ledger = read_ledger(bundle.ledger)
        public = _public_problem(bundle, agreement)
    except (AgreementError, LogError) as error:
        found.append(Finding("answers", False, str(error)))
        return
    found.extend(check_run(agreement, logs, ledger, claim, public=public))
    proven = Finding.of("evidence", check_evidence, agreement, logs)
    if not proven.ok:
        found.append(proven)
    elif proven.detail:
        verdict.notes.append(proven.detail)
    if words := describe_loss(logs):
        verdict.notes.append(words)


def _public_problem(bundle: Bundle, agreement: Agreement) -> Problem:
    if len(agreement.confidential()) == len(agreement.objectives):
        return agreement.known_problem
    try:
        found = {k: np.array(rows, dtype=np.int64) for k, rows in bundle.public.items()}
    except (ValueError, OverflowError) as error:
        raise LogError(f"the bundle lacks the public weights ({error}); fetch it again") from None
    return with_public_weights(agreement, found)
