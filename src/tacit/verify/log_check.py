"""Afterwards: whether nodes and platform did what was signed.

The nodes' logs tell, and the platform that carries them can neither forge nor withhold a line of
them unseen.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import msgspec

from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.records.log_receipt import check_log
from tacit.errors import LogError, PlatformError
from tacit.participant.account.profile import Profile
from tacit.participant.account.shapes import CarriedLog, CarriedLogs, Outcome
from tacit.participant.plain_text import plain_line
from tacit.participant.reviewing import clock_warnings
from tacit.verify.answer_log import Log
from tacit.verify.input_check import check_inputs
from tacit.verify.ledger_check import ENDED, check_populations, check_search, check_told
from tacit.verify.sealed_check import sealed_findings
from tacit.verify.verdict import Finding, Verdict


def check_logs(profile: Profile, run: str, /) -> Verdict:
    """Fetch the three nodes' logs for a fresh nonce, and check everything that they can show."""
    agreement = profile.need_signed_agreement(run)
    nonce = secrets.token_bytes(32)
    with profile.connect() as client:
        outcome = client.get(f"/runs/{run}/result", Outcome)
        if outcome.state not in ENDED:
            # Until then something may always be on its way, and nothing be told to be missing.
            raise PlatformError(
                f"{run} is {plain_line(outcome.state)}, says the platform, and can be checked when "
                "it has ended; if it should have by now, ask the others what they see"
            )
        # The ledger comes first: whatever it tells of must then be in the logs.
        ledger = read_ledger(client.send("GET", f"/runs/{run}/ledger", bulk=True))
        asked = {"nonce": nonce.hex()}
        carried = client.post(f"/runs/{run}/logs", asked, CarriedLogs, bulk=True)
        now, offset = time.time(), client.clock_offset
    verdict = Verdict(run, outcome.state)
    verdict.notes.extend(clock_warnings("the platform", offset))
    logs = _verified_logs(agreement, carried, nonce, verdict)
    for each in carried.logs:
        # A node's seconds are cut off as well.
        verdict.notes.extend(clock_warnings(f"node {each.node}", each.seconds + 0.5 - now))
    if len(logs) == 3:
        own = {
            k: profile.manifests(run, k)
            for k in agreement.confidential()
            if agreement.rows_of(profile.account, k)
        }
        verdict.findings.append(
            Finding.of(
                "inputs", check_inputs, agreement, logs, carried.manifests, profile.account, own
            )
        )
        shown = profile.shown_plan(run)
        if agreement.sealed:
            verdict.findings.extend(sealed_findings(agreement, logs, ledger, outcome, shown))
        else:
            verdict.findings.extend(_findings(agreement, logs, ledger, outcome, shown))
        verdict.notes.extend(_refusals(logs))
    return verdict


def _findings(
    agreement: Agreement,
    logs: Sequence[Log],
    ledger: Sequence[LedgerEntry],
    outcome: Outcome,
    shown: list[int] | None,
) -> list[Finding]:
    """What was asked, what was told, and what was made of it."""
    told = Finding.of("answers", check_told, agreement, logs, ledger)
    found = [Finding.of("populations", check_populations, logs), told]
    if told.ok or told.unproven:  # a search that was told lies goes anywhere
        found.append(Finding.of("search", check_search, agreement, logs[0], ledger, outcome, shown))
    return found


def read_ledger(data: bytes, /) -> list[LedgerEntry]:
    """What the platform says was disclosed.

    >>> read_ledger(b"{}")
    Traceback (most recent call last):
    tacit.errors.LogError: the platform's ledger cannot be read (Object missing required field \
`objective`); ask its operator for the whole of it
    """
    try:
        return [msgspec.json.decode(line, type=LedgerEntry) for line in data.splitlines() if line]
    except msgspec.DecodeError as error:
        raise LogError(
            f"the platform's ledger cannot be read ({error}); ask its operator for the whole of it"
        ) from None


def _verified_logs(
    agreement: Agreement, carried: CarriedLogs, nonce: bytes, verdict: Verdict
) -> list[Log]:
    """The logs that are whole, of this agreement, and signed for our question."""
    by_node = {each.node: each for each in carried.logs}
    logs: list[Log] = []

    def verify(node: int) -> str:
        if node not in by_node:
            raise LogError(
                f"the platform brings no log of node {node}; ask again, then ask its operator"
            )
        entries = _verify(agreement, node, by_node[node], nonce)
        logs.append(entries)
        return f"node {node}: {len(entries)} lines, unbroken, signed for this question"

    for node in range(3):
        verdict.findings.append(Finding.of(f"log of node {node}", verify, node))
    return logs


def _verify(agreement: Agreement, node: int, carried: CarriedLog, nonce: bytes) -> Log:
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


def _refusals(logs: Sequence[Log]) -> list[str]:
    """What the platform asked for and the nodes refused: worth a look, not a proof of anything."""
    notes = []
    for node, log in enumerate(logs):
        refused = [str(e.get("reason", "")) for e in log if e["event"] == "refused"]
        if refused:
            notes.append(f"node {node} refused {len(refused)} requests, the first: {refused[0]}")
    return notes
