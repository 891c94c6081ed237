"""Whether nodes and platform did what was signed, checked in a process of its own.

A check repeats the whole search, and the main process has deadlines to keep: one at a time, behind
everything else. The platform checks here what it shows itself; who does not trust it checks on a
machine of its own.
"""

from __future__ import annotations

import sys

import msgspec

from tacit.errors import TacitError
from tacit.service.access.limits import ConcurrencyLimit, compute_in_background
from tacit.verify import Finding, Verdict, check_bundle, read_bundle

CHECK_SECONDS = 600.0


class LogVerdict(msgspec.Struct, frozen=True):
    """What a check of a bundle came to."""

    ok: bool
    findings: list[Finding]
    notes: list[str]


_READ_VERDICT = msgspec.json.Decoder(LogVerdict)


class LogChecks:
    """Checks bundles, one at a time."""

    def __init__(self) -> None:
        self._turns = ConcurrencyLimit("checks", at_once=1, each=1, within=30.0)

    async def verdict(self, account: str, packed: bytes, /) -> LogVerdict:
        """What a check of a bundle came to."""
        async with self._turns.slot(account):
            failed = "the logs cannot be checked now; download them, or try again later"
            said = await compute_in_background(
                __name__, packed, within=CHECK_SECONDS, failed=failed
            )
        return _READ_VERDICT.decode(said)


def verdict_of(packed: bytes, /) -> LogVerdict:
    """Check a bundle in this process."""
    verdict = Verdict("", "")
    try:
        verdict = check_bundle(read_bundle(packed))
    except TacitError as error:
        verdict.findings.append(Finding("bundle", False, str(error)))
    return LogVerdict(verdict.ok, verdict.findings, verdict.notes)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(verdict_of(sys.stdin.buffer.read())))
