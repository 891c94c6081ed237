"""`tacit demo` without a terminal: everything starts, one run reaches its plan, all is gone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes


def demo(folder: Path, deadline: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tacit", "demo", "--deadline", deadline, "--nodes", "4"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_demo_ends_by_itself(tmp_path: Path) -> None:
    done = demo(tmp_path, "500s")
    assert done.returncode == 0, done.stderr
    # That an answer takes longer than usual is said, and no more.
    troubles = [each for each in done.stderr.splitlines() if not each.endswith(" s; waiting")]
    assert not troubles
    address = re.search(r"dashboard\s+https://(127\.0\.0\.1:\d+)", done.stdout)
    assert address
    assert re.search(r"sign in\s+tci_\S{20,}", done.stdout)
    slots = re.findall(r"(?:amber|birch|cobalt) \d{3}\D+\d\d:\d\d\D+(\d\d:\d\d)", done.stdout)
    assert len(slots) == len(set(slots)) == 24
    assert "all did what was signed" in done.stdout
    assert "sealed their costs to the four nodes" in done.stdout
    assert "the answer is right or there is none" in done.stdout
    cost, best = (
        int(found.replace(",", "")) for found in re.findall(r"costs ([\d,]+)", done.stdout)[-2:]
    )
    assert cost == best
    assert "The nodes proved that no plan is better" in done.stdout
    # It is answered when it is done.
    seconds = re.search(r"it came after ([\d.]+) s", done.stdout)
    assert seconds
    assert float(seconds[1]) < 500
    assert not list(tmp_path.iterdir())
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f"{int(address[1].rsplit(':', 1)[1]):04X}"
    assert not any(line.split()[1].endswith(f":{port}") for line in listening if " 0A " in line)
