"""The command in a process of its own, as studies and tuning are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT


def tacit(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tacit", *arguments],
        capture_output=True, text=True, timeout=300, check=False, cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
