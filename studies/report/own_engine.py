"""Time our own Privacy Engine, and compare with the paper under these times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from studies.evaluation.time_budget import (
    PAPER_BUDGET,
    PAPER_SECONDS,
    TimeBudget,
    budget_of,
    comparison_generations,
)
from studies.report.findings import CONFIGURABLE
from studies.report.results import COLUMNS, Results, Standing
from studies.tables import Block, Cell, ReportTable, plain
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


Generations = Mapping[str, int]


@dataclass(frozen=True)
class Certainty:
    """How sure it is that a disclosure is the best, or the worst."""

    measurements: int
    same: int
    """The number of measurements by which it is."""
    same_method: int
    """By which it, or another configuration of its method, is."""
    at_ends: bool
    """Whether it is with its own least favourable measurement and the others' most favourable."""
    method_at_ends: bool
    """Whether it, or another configuration of its method, is then."""

    def __str__(self) -> str:
        return (
            f"{self.same} of {self.measurements} (method {self.same_method}), "
            f"ends: {'yes' if self.at_ends else 'no'} "
            f"(method {'yes' if self.method_at_ends else 'no'})"
        )


@dataclass(frozen=True)
class Leaders:
    """The best and the worst configurable disclosure of a column."""

    best: str
    worst: str
    best_sure: Certainty
    worst_sure: Certainty


def leaders(standing: Standing, times: EngineTimes, /) -> Leaders:
    """Who is best and worst at the generations that these times leave, and at their ends."""
    ranked = standing.ranked(CONFIGURABLE, times.generations())
    measured = [standing.ranked(CONFIGURABLE, each) for each in times.generations_measured()]
    low, high = ends(times)

    def sure(place: int, own: Generations, others: Generations) -> Certainty:
        text = ranked[place]
        method, _ = split_disclosure(text)
        least = standing.ranked(CONFIGURABLE, {**others, method: own[method]})[place]
        found = [each[place] for each in measured]
        return Certainty(
            len(found),
            sum(each == text for each in found),
            sum(split_disclosure(each)[0] == method for each in found),
            least == text,
            split_disclosure(least)[0] == method,
        )

    return Leaders(ranked[0], ranked[-1], sure(0, low, high), sure(-1, high, low))


def ends(times: EngineTimes, /) -> tuple[dict[str, int], dict[str, int]]:
    """The fewest and the most generations that each method reaches by any measurement.

    >>> from studies.report.own_engine import Timed
    >>> none, top = Timed(0.002, (0.002, 0.0021)), Timed(0.01, (0.0101, 0.0099))
    >>> ends(EngineTimes(300, 100, 0, {"none": none, "top:10": top}))
    ({'none': 500, 'top': 98}, {'none': 500, 'top': 105})
    """
    measured = times.generations_measured()
    return (
        {method: min(each[method] for each in measured) for method in measured[0]},
        {method: max(each[method] for each in measured) for method in measured[0]},
    )


def own_engine_blocks(
    results: Results, engine: Sequence[EngineTimes], /
) -> tuple[list[Block], dict[str, object] | None]:
    """The tables of the report, and the same for `summary.json`."""
    if not engine:
        told = (
            "The times of our own engine were not measured: `tacit bench engine` is not available "
            "here, and no file of times was given."
        )
        return [told], None
    standings = {
        column.name: Standing(
            column, [results.curves(column, name) for name in results.counted(column.study)]
        )
        for column in results.columns()
    }
    papers = {
        name: standing.ranked(CONFIGURABLE, comparison_generations(PAPER_BUDGET))
        for name, standing in standings.items()
    }
    found = {
        times.latency_ms: {name: leaders(each, times) for name, each in standings.items()}
        for times in engine
    }
    blocks: list[Block] = [generations_table(engine), leaders_table(papers, found)]
    blocks += [medians_table(standings, times) for times in engine]
    blocks.append(papers_seconds_table(engine))
    entry: dict[str, object] = {
        "leaders_with_papers_times": {
            name: {"best": ranked[0], "worst": ranked[-1]} for name, ranked in papers.items()
        },
        "delays": [_entry(times, found[times.latency_ms]) for times in engine],
    }
    return blocks, entry


def generations_table(engine: Sequence[EngineTimes], /) -> ReportTable:
    """Table 2 in the paper's way, on our own engine."""
    header = ["method"]
    for times in engine:
        delay = f"{times.latency_ms:g} ms delay"
        header += [f"{delay}: ms per evaluation", f"{delay}: generation"]
    rows = []
    for method in PAPER_SECONDS:
        cells = [Cell(method)]
        for times in engine:
            if method not in times.by_method():
                cells += plain("not measured", "")
                continue
            each = [1000 * seconds[method] for seconds in times.measurements()]
            low, high = ends(times)
            reached = f"{times.generations()[method]} ({low[method]} to {high[method]})"
            shown = f"{1000 * times.by_method()[method]:.2f} ({min(each):.2f} to {max(each):.2f})"
            cells += plain(shown, reached)
        rows.append(tuple(cells))
    budgets = ", ".join(
        f"{budget_of(times.by_method()).seconds:.2f} s at {times.latency_ms:g} ms"
        for times in engine
    )
    return ReportTable(
        "table-own-engine",
        "Table 2 on our own engine: 501 evaluations without obfuscation on the same engine",
        tuple(header),
        tuple(rows),
        f"The budget is {budgets}. Three processes on this machine, with the given one-way delay "
        f"between nodes. Median and range of {len(engine[0].measurements())} measurements, each of "
        "which goes through all disclosures and has a budget of its own.",
    )


def leaders_table(
    papers: Mapping[str, Sequence[str]], found: Mapping[float, Mapping[str, Leaders]], /
) -> ReportTable:
    """Best and worst configurable disclosures, ranked with the paper's times and with ours."""
    rows = [
        plain(COLUMNS[name].label, "the paper's", ranked[0], "", ranked[-1], "")
        for name, ranked in papers.items()
    ]
    for latency, by_column in found.items():
        for name, each in by_column.items():
            rows.append(
                plain(
                    COLUMNS[name].label,
                    f"ours, {latency:g} ms",
                    each.best,
                    str(each.best_sure),
                    each.worst,
                    str(each.worst_sure),
                )
            )
    return ReportTable(
        "table-own-engine-leaders",
        "The best and the worst configurable disclosure within the budget, by engine",
        ("column", "times", "best", "how sure", "worst", "how sure"),
        tuple(rows),
        "By wins, the mean over instances (TSP: the paper's own), then by medians. How sure: by "
        "how many measurements it is the same, and whether it stays so at the ends: with its own "
        "least favourable measurement and the others' most favourable. In brackets: the same "
        "where any configuration of its method counts.",
    )


def medians_table(standings: Mapping[str, Standing], times: EngineTimes, /) -> ReportTable:
    """Medians and wins at the generations that our engine reaches."""
    generations = times.generations()
    medians = {name: each.medians(generations) for name, each in standings.items()}
    wins = {name: each.wins(generations) for name, each in standings.items()}
    rows = []
    for text in next(iter(medians.values())):
        cells = [Cell(text)]
        for name in standings:
            digits = 2 if COLUMNS[name].in_percent else 0
            cells.append(Cell(f"{medians[name][text]:,.{digits}f} ({wins[name][text]:.1f})"))
        rows.append(tuple(cells))
    return ReportTable(
        f"table-own-engine-{times.latency_ms:g}-ms",
        f"Medians (wins) within the budget of our own engine at {times.latency_ms:g} ms delay",
        ("disclosure", *(COLUMNS[name].label for name in standings)),
        tuple(rows),
        "Medians over runs, then over instances; wins are the mean over instances.",
    )


def papers_seconds_table(engine: Sequence[EngineTimes], /) -> ReportTable:
    """What our engine reaches in the seconds of the paper's engine, which compares engines."""
    rows = []
    for method in PAPER_SECONDS:
        reached = [str(each.generations_in_papers_seconds().get(method, "")) for each in engine]
        rows.append(plain(method, *reached))
    return ReportTable(
        "table-own-engine-papers-seconds",
        f"Not the paper's comparison: the generation that our engine reaches in the paper's "
        f"{PAPER_BUDGET.seconds} s (500 is the last)",
        ("method", *(f"{each.latency_ms:g} ms delay" for each in engine)),
        tuple(rows),
        "Where all reach the last generation, the time budget compares nothing.",
    )


def _entry(times: EngineTimes, by_column: Mapping[str, Leaders]) -> dict[str, object]:
    low, high = ends(times)
    measured = times.measurements()
    seconds = {
        method: {
            "median": median,
            "low": min(each[method] for each in measured),
            "high": max(each[method] for each in measured),
        }
        for method, median in times.by_method().items()
    }
    generations = {
        method: {"median": reached, "low": low[method], "high": high[method]}
        for method, reached in times.generations().items()
    }
    return {
        "latency_ms": times.latency_ms,
        "measurements": len(measured),
        "budget_seconds": round(budget_of(times.by_method()).seconds, 4),
        "seconds": seconds,
        "generations": generations,
        "generations_in_papers_seconds": times.generations_in_papers_seconds(),
        "leaders": dict(by_column),
    }
