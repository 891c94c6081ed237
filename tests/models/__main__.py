"""Check the models with Spin, in their full state space: `python -m tests.models [MODEL ...]`.

Exit status 1 unless each property holds, and each rule that is left out gives a counterexample to
the property that it is there for.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.models.cases import CASES, Case

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "models.md"
MARKS = "<!-- figures: make models -->", "<!-- end of figures -->"
SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one search."""

    case: Case
    states: int
    seconds: float
    broken: str
    """The property that a counterexample breaks; empty if there is none."""
    trace: list[str]

    @property
    def is_as_stated(self) -> bool:
        return self.broken == self.case.broken

    def line(self) -> str:
        """Say it to whoever runs this."""
        what = f"broken: {self.broken}" if self.broken else "holds"
        stated = "" if self.is_as_stated else f"  NOT AS STATED: {self.case.broken or 'holds'}"
        name = f"{self.case.model}: {self.case.title}"
        return f"{name:75} {what:45} {self.states:>11,} states {self.seconds:6.1f} s{stated}"


def check(case: Case) -> Result:
    """Search the whole state space of one model; the first counterexample ends the search."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in FOLDER.glob("*.[ph]*"):
            if path.suffix in (".pml", ".h"):
                shutil.copy(path, folder)
        flags = [f"-D{each}" for each in case.defines]
        source = f"{case.model}.pml"
        _run(folder, "spin", *flags, "-a", source)
        # No bitstate hashing: every state is stored, compressed without loss.
        kind = ["-DNP", "-DNFAIR=3"] if case.cycles else ["-DSAFETY"]
        if case.broken:
            kind.append("-DBFS")  # breadth first finds a shortest counterexample
        _run(folder, "gcc", "-w", "-O2", "-DCOLLAPSE", *kind, "-o", "pan", "pan.c")
        search = ["-l", *(["-f"] if case.fair else [])] if case.cycles else []
        output = _run(folder, "./pan", "-m1000000", "-w24", *search)
        trace = []
        if "errors: 0" not in output:
            replayed = _run(folder, "spin", "-t", *flags, source)
            steps = (line.strip() for line in replayed.splitlines())
            trace = [step for step in steps if re.match(r"(node|platform|attempt) ?\d*[:,]", step)]
    return _read(case, output, trace)


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _read(case: Case, output: str, trace: list[str]) -> Result:
    ended = re.search(r"errors: (\d+)", output)
    stored = re.search(r"(\d+(?:\.\d+e[+]\d+)?) states, stored", output)
    if ended is None or stored is None:
        sys.exit(f"{case.model}: the search did not end:\n{output[-2000:]}")
    broken = ""
    if ended[1] != "0":
        broken = case.property_of(output)
    elif "max search depth too small" in output or "Search not completed" in output:
        sys.exit(f"{case.model}: the search was cut off; nothing is shown")
    seconds = re.search(r"elapsed time ([\d.]+)", output)
    spent = float(seconds[1]) if seconds else 0.0
    return Result(case, int(float(stored[1])), spent, broken, trace)


def table(results: list[Result]) -> str:
    """What the page shows of the results."""
    lines = ["| model | | outcome | states |", "| --- | --- | --- | ---: |"]
    for each in results:
        what = f"broken: {each.broken}" if each.broken else "holds"
        lines.append(f"| {each.case.model} | {each.case.title} | {what} | {each.states:,} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    models = sorted({each.model for each in CASES})
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(models)}")
    parser.add_argument("--rule", help="leave out this rule only, and print the counterexample")
    parser.add_argument("--write", action="store_true", help=f"write the table of {PAGE.name}")
    options = parser.parse_args()
    if unknown := set(options.models) - set(models):
        parser.error(f"there is no model {', '.join(sorted(unknown))}")
    results = []
    for case in CASES:
        if options.models and case.model not in options.models:
            continue
        if options.rule and options.rule not in case.defines:
            continue
        results.append(check(case))
        print(results[-1].line(), flush=True)
        if options.rule:
            print("\n".join(f"    {step}" for step in results[-1].trace))
    if not results:
        parser.error(f"no model has a rule {options.rule}")
    if options.write:
        text = PAGE.read_text()
        start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
        PAGE.write_text(f"{text[:start]}\n{table(results)}\n{text[end:]}")
    wrong = [each for each in results if not each.is_as_stated]
    print(f"{len(results) - len(wrong)} of {len(results)} are as stated")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
