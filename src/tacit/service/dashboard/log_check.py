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

from tacit.errors import BusyError, TacitError
from tacit.service.server.concurrency_limit import ConcurrencyLimit
from tacit.verify import Finding, Verdict, check_bundle, read_bundle

CHECK_SECONDS = 600.0
NICE = 10


class LogChecks:
    """Checks bundles, one at a time."""

    def __init__(self) -> None:
        self._turns = ConcurrencyLimit("checks", at_once=1, each=1, within=30.0)

    async def verdict(self, account: str, packed: bytes, /) -> dict[str, Any]:
        """What a check of a bundle came to: `ok`, `findings` and `notes`."""
        async with self._turns.of(account):
            return await _checked_elsewhere(packed)


async def _checked_elsewhere(packed: bytes) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tacit.service.dashboard.log_check",
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


def verdict_of(packed: bytes, /) -> dict[str, Any]:
    """Check a bundle in this process."""
    verdict = Verdict("", "")
    try:
        verdict = check_bundle(read_bundle(packed))
    except TacitError as error:
        verdict.findings.append(Finding("bundle", False, str(error)))
    findings = [asdict(each) for each in verdict.findings]
    for each in findings:
        if each["about"] == "inputs" and each["ok"]:
            # The rest is about rows of one's own, and nobody's are here.
            each["detail"] = each["detail"].partition(";")[0]
    return {"ok": verdict.ok, "findings": findings, "notes": verdict.notes}


if __name__ == "__main__":
    print(json.dumps(verdict_of(sys.stdin.buffer.read())))
