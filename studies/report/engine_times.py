"""How long our own Privacy Engine takes per evaluation, as `tacit bench engine --json` tells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from studies.evaluation.time_budget import (
    PAPER_BUDGET,
    TimeBudget,
    budget_of,
    comparison_generations,
)
from tacit.disclosure import split_disclosure
from tacit.errors import FileError
from tacit.files import read_bytes
from tacit.plain_text import decoders_words

LATENCIES_MS = (0, 1, 10)
QUICK_LATENCIES_MS = (0, 1)
"""Without the long delay, which alone takes longer to measure than the others together."""
LONG_DELAY_MS = 10
"""From here on the delay decides the times, which then differ little: fewer repetitions do."""
MEASUREMENTS = 5
"""So often all disclosures are measured, one after another; the range tells the uncertainty."""
LONGEST_SECONDS = 300


class Timed(msgspec.Struct, frozen=True):
    """One disclosure's entry; the bench tells more than is needed here."""

    seconds: float
    """The median over measurements."""
    each_seconds: tuple[float, ...] = ()
    """Every measurement."""


class EngineTimes(msgspec.Struct, frozen=True):
    """What the bench prints for one latency."""

    population: int
    size: int
    latency_ms: float
    disclosures: dict[str, Timed]

    def by_method(self) -> dict[str, float]:
        """Seconds per evaluation, by method."""
        return {split_disclosure(text)[0]: told.seconds for text, told in self.disclosures.items()}

    def measurements(self) -> list[dict[str, float]]:
        """Seconds per evaluation, by method, of each measurement; at least one."""
        by_method = {split_disclosure(text)[0]: told for text, told in self.disclosures.items()}
        count = min((len(told.each_seconds) for told in by_method.values()), default=0)
        if not count:
            return [self.by_method()]
        return [
            {method: told.each_seconds[i] for method, told in by_method.items()}
            for i in range(count)
        ]

    def generations(self) -> dict[str, int]:
        """The last generation of each method in the paper's way.

        The budget is 501 evaluations without obfuscation, on the same engine.

        >>> EngineTimes(300, 100, 0, {"none": Timed(0.002), "top:10": Timed(0.01)}).generations()
        {'none': 500, 'top': 99}
        """
        return comparison_generations(budget_of(self.by_method()))

    def generations_measured(self) -> list[dict[str, int]]:
        """The same for each measurement by itself, each with a budget of its own."""
        return [comparison_generations(budget_of(each)) for each in self.measurements()]

    def generations_in_papers_seconds(self) -> dict[str, int]:
        """The last generation of each method within the paper's 135.27 s, at most 500."""
        return comparison_generations(TimeBudget(PAPER_BUDGET.seconds, self.by_method()))


def read_engine_times(path: str | Path, /) -> list[EngineTimes]:
    """Read what the bench printed: one object, or a list of them for several latencies."""
    try:
        raw = msgspec.json.decode(read_bytes(path))
        times = msgspec.convert(raw if isinstance(raw, list) else [raw], list[EngineTimes])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        remedy = "give what 'tacit bench engine --json' prints"
        raise FileError(path, None, decoders_words(error), remedy) from None
    if any("none" not in each.disclosures for each in times):
        raise FileError(path, None, "the times of none are missing", "measure them, too")
    return times


def measure_engine(latencies_ms: Sequence[int] = LATENCIES_MS, /) -> list[EngineTimes]:
    """Measure on this machine, or give nothing where the engine's bench is not available."""
    command = [sys.executable, "-m", "tacit", "bench", "engine"]
    if not _succeeds([*command, "--help"]):
        return []
    measured = []
    for latency in latencies_ms:
        asked = [*command, "--population", "300", "--size", "100", "--json"]
        asked += ["--measurements", str(MEASUREMENTS)]
        if latency:
            asked += ["--latency", f"{latency}ms"]
        if latency >= LONG_DELAY_MS:
            asked += ["--repeats", "7"]
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
