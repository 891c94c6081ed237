"""Known vulnerabilities of locked packages, as far as somebody can be asked.

pip-audit asks a service on the internet. Where that cannot be reached, or does not know a package,
nothing was audited, and that is what is said: it is no reason to fail, and none to be content.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
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

    def words(self) -> str:
        """One line for whoever makes the release."""
        if self.failure:
            return f"NOT AUDITED: the vulnerability service could not be asked ({self.failure})"
        if not self.asked:
            return f"NOT AUDITED: the service knows none of the {len(self.unknown)} packages"
        said = ", ".join(self.vulnerable) or "no known vulnerability"
        rest = f"; NOT AUDITED: {', '.join(self.unknown)}" if self.unknown else ""
        return f"{self.asked} packages audited: {said}{rest}"


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
