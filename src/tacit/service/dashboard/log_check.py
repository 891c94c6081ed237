"""Whether nodes and platform did what was signed, checked in a process of its own.

A check repeats the whole search, and the main process has deadlines to keep: one at a time, behind
everything else. The platform checks here what it shows itself; who does not trust it checks on a
machine of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from tacit.engine.agreement import Agreement, read_agreement
from tacit.engine.derived import with_public_weights
from tacit.engine.records import Log, check_log, read_ledger
from tacit.errors import AgreementError, BusyError, LogError, TacitError
from tacit.service.dashboard.audit_bundle import Bundle, unpacked
from tacit.service.server.concurrency_limit import ConcurrencyLimit
from tacit.verify import (
    Claim,
    Finding,
    Verdict,
    check_evidence,
    check_inputs,
    check_run,
    describe_loss,
)

CHECK_SECONDS = 600.0
NICE = 10


class LogChecks:
    """Checks bundles, one at a time."""

    def __init__(self) -> None:
        self._turns = ConcurrencyLimit("checks", at_once=1, each=1, within=30.0)

    async def verdict(self, account: str, run_id: str, packed: bytes, /) -> dict[str, Any]:
        """What a check of a bundle came to: `ok`, `findings` and `notes`."""
        async with self._turns.of(account):
            return await _checked_elsewhere(run_id, packed)


async def _checked_elsewhere(run_id: str, packed: bytes) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tacit.service.dashboard.log_check",
        run_id,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    said = b""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            said, _ = await process.communicate(packed)
    except TimeoutError:
        pass  # said below
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise BusyError("the logs cannot be checked now; download them, or try again later")
    found: dict[str, Any] = json.loads(said)
    return found


def check_bundle(run_id: str, bundle: Bundle, /) -> Verdict:
    """Check everything that a bundle shows."""
    agreement = read_agreement(bundle.agreement)
    verdict = Verdict(run_id, str(bundle.result["state"]))
    logs = _verified_logs(bundle, agreement, verdict)
    if len(logs) < len(agreement.nodes):
        return verdict
    manifests = {
        (each["participant"], each["objective"]): (each["manifest"], each["signature"])
        for each in bundle.signed["manifests"]
    }
    inputs = Finding.of("inputs", check_inputs, agreement, logs, manifests, "", {})
    if inputs.ok:
        # The rest is about rows of one's own, and nobody's are here.
        inputs = Finding(inputs.about, True, inputs.detail.partition(";")[0])
    verdict.findings.append(inputs)
    plan, front = bundle.result["plan"], bundle.result["front"] or []
    claim = Claim(
        None if plan is None else plan["items"],
        bundle.result["generation"],
        None,
        [each["items"] for each in front],
    )
    try:
        ledger = read_ledger(bundle.ledger, sealed=agreement.sealed)
        weights = {int(k): np.array(rows, np.int64) for k, rows in bundle.public.items()}
        public = with_public_weights(agreement, weights) if weights else agreement.known_problem
    except (AgreementError, LogError) as error:
        verdict.findings.append(Finding("answers", False, str(error)))
        return verdict
    verdict.findings.extend(check_run(agreement, logs, ledger, claim, public=public))
    proven = Finding.of("evidence", check_evidence, agreement, logs)
    if not proven.ok:
        verdict.findings.append(proven)
    elif proven.detail:
        verdict.notes.append(proven.detail)
    if words := describe_loss(logs):
        verdict.notes.append(words)
    return verdict


def _verified_logs(bundle: Bundle, agreement: Agreement, verdict: Verdict) -> list[Log]:
    signed = {each["node"]: each for each in bundle.signed["logs"]}
    logs: list[Log] = []

    def verify(node: int) -> str:
        if node not in signed:
            raise LogError(f"there is no log of node {node}; ask its operator")
        events = check_log(
            agreement,
            node,
            bundle.logs[node],
            nonce=bytes.fromhex(bundle.signed["nonce"]),
            seconds=signed[node]["seconds"],
            signature=bytes.fromhex(signed[node]["signature"]),
        )
        logs.append(events)
        return f"node {node}: {len(events)} lines, unbroken, signed for this question"

    for node in range(len(agreement.nodes)):
        verdict.findings.append(Finding.of(f"log of node {node}", verify, node))
    return logs


def main() -> None:
    """Check the bundle at standard input, and say as JSON what it came to."""
    try:
        verdict = check_bundle(sys.argv[1], unpacked(sys.stdin.buffer.read()))
    except TacitError as error:
        verdict = Verdict(sys.argv[1], "", [Finding("bundle", False, str(error))])
    findings = [asdict(each) for each in verdict.findings]
    print(json.dumps({"ok": verdict.ok, "findings": findings, "notes": verdict.notes}))


if __name__ == "__main__":
    main()
