"""Known vulnerabilities of locked packages, as far as somebody can be asked.

pip-audit asks a service on the internet for the advisories that PyPI has at that moment, so the
date of its data is when it was asked. Where it cannot be reached, or does not know a package,
nothing was audited, and that is what is said: it is no reason to fail, and none to be content.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Audited:
    """What came of it."""

    asked: int = 0
    """How many packages the service knew."""
    vulnerable: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    failure: str = ""
    """Why nobody could be asked."""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When it was asked, which is the date of what it knew."""

    def words(self) -> str:
        """One line for whoever makes the release."""
        when = f"{self.at:%Y-%m-%d %H:%M} UTC"
        why = f"the service knows none of the {len(self.unknown)} packages"
        if self.failure:
            why = f"the vulnerability service could not be asked ({self.failure})"
        if not self.asked:
            return f"NOT AUDITED on {when}: {why}"
        said = ", ".join(self.vulnerable) or "no known vulnerability"
        rest = f"; NOT AUDITED: {', '.join(self.unknown)}" if self.unknown else ""
        return f"{self.asked} packages audited with the advisories of {when}: {said}{rest}"


def audit(lock: Path, /) -> Audited:
    """Ask about every package of a lock file."""
    words = ["--disable-pip", "--require-hashes", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "-r", str(lock), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    return read_answer(done.stdout, done.stderr)


def report(answers: Mapping[str, Audited], /, *, sums: bytes) -> str:
    """Write what comes with a release, which is named by the hash of its SHA256SUMS."""
    digest = hashlib.sha256(sums).hexdigest()
    lines = [f"Audit of the release whose SHA256SUMS has the hash {digest}"]
    lines += [f"{name}: {answer.words()}" for name, answer in answers.items()]
    return "\n".join(lines) + "\n"


def read_answer(answer: str, errors: str, /) -> Audited:
    """Read what pip-audit says; it calls packages that it could not ask about free of faults."""
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError):
        lines = errors.strip().splitlines()
        return Audited(failure=lines[-1][:300] if lines else "no answer")
    known = [each for each in packages if "skip_reason" not in each]
    return Audited(
        asked=len(known),
        vulnerable=[
            f"{each['name']} {each['version']}: {fault['id']}"
            for each in known
            for fault in each["vulns"]
        ],
        unknown=[each["name"] for each in packages if "skip_reason" in each],
    )
