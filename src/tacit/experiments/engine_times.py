"""How long our own Privacy Engine takes per evaluation, as `tacit bench engine --json` tells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tacit.disclosure import split_disclosure
from tacit.errors import FileError
from tacit.experiments.execution.time_budget import PAPER_BUDGET, TimeBudget
from tacit.files import read_bytes

LATENCIES_MS = (0, 1, 10)
QUICK_LATENCIES_MS = (0, 1)
"""Without the long delay, which alone takes longer to measure than the others together."""
LONGEST_SECONDS = 300


class Timed(msgspec.Struct, frozen=True):
    """One disclosure's entry; the bench tells more than is needed here."""

    seconds: float


class EngineTimes(msgspec.Struct, frozen=True):
    """What the bench prints for one latency."""

    population: int
    size: int
    latency_ms: float
    disclosures: dict[str, Timed]

    def by_method(self) -> dict[str, float]:
        """Seconds per evaluation, by method."""
        return {split_disclosure(text)[0]: told.seconds for text, told in self.disclosures.items()}

    def generations(self) -> dict[str, int]:
        """The last generation that each method reaches within the paper's budget, at most 500."""
        budget = TimeBudget(PAPER_BUDGET.seconds, self.by_method())
        return {method: min(500, budget.last_generation(method)) for method in self.by_method()}


def read_engine_times(path: str | Path, /) -> list[EngineTimes]:
    """Read what the bench printed: one object, or a list of them for several latencies."""
    try:
        raw = msgspec.json.decode(read_bytes(path))
        return msgspec.convert(raw if isinstance(raw, list) else [raw], list[EngineTimes])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        remedy = "give what 'tacit bench engine --json' prints"
        raise FileError(path, None, str(error), remedy) from None


def measure_engine(latencies_ms: Sequence[int] = LATENCIES_MS, /) -> list[EngineTimes]:
    """Measure on this machine, or give nothing where the engine's bench is not available."""
    command = [sys.executable, "-m", "tacit", "bench", "engine"]
    if not _succeeds([*command, "--help"]):
        return []
    measured = []
    for latency in latencies_ms:
        asked = [*command, "--population", "300", "--size", "100", "--json"]
        if latency:
            asked += ["--latency", f"{latency}ms"]
        printed = _printed(asked)
        if printed is not None:
            measured.append(printed)
    return measured


def _succeeds(command: list[str]) -> bool:
    done = subprocess.run(command, capture_output=True, timeout=LONGEST_SECONDS, check=False)
    return done.returncode == 0


def _printed(command: list[str]) -> EngineTimes | None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGEST_SECONDS, check=True)
        return msgspec.json.decode(done.stdout, type=EngineTimes)
    except (subprocess.SubprocessError, msgspec.DecodeError, msgspec.ValidationError):
        return None
