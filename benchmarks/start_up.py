"""How long `tacit solve` takes on a small problem, from the start of its process to its end.

    python -m benchmarks.start_up
    python -m benchmarks.start_up --rows 10 --runs 9 --json FILE

The processor time is that of the command and of all its nodes together. On a busy machine it says
more than seconds do, and so do ratios to `import numpy` in a new interpreter, which is measured
between the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.json_files import write_json
from tacit.problems import generate_assignment, save_problem

PHASES = ("imports", "nodes", "agreement", "inputs", "search", "end")
"""Until the problem is read; until all nodes listen; until all boxes are sealed; until the nodes
have checked what is in them; until the plan is opened; until the process has ended."""


class Run(msgspec.Struct, frozen=True):
    """One call of the command."""

    seconds: float
    processor_seconds: float
    phases: dict[str, float]
    """The seconds of each phase."""
    import_numpy: float
    """The seconds of an interpreter that imports NumPy, just before."""


class Content(msgspec.Struct, frozen=True):
    """All of it."""

    rows: int
    cores: int
    runs: tuple[Run, ...] = ()


def one(problem: Path, /) -> Run:
    """Call the command once."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    import_numpy = time.monotonic() - began
    before, began = _processor_seconds(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.start_up", "--one", str(problem)],
        stdout=subprocess.PIPE,
        check=True,
    )
    ended = time.monotonic()
    reached = [began, *json.loads(done.stdout.splitlines()[-1]), ended]
    spent = [later - earlier for earlier, later in pairwise(reached)]
    return Run(
        round(ended - began, 3),
        round(_processor_seconds() - before, 3),
        {name: round(each, 3) for name, each in zip(PHASES, spent, strict=True)},
        round(import_numpy, 3),
    )


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _solve(problem: str) -> None:
    """Be the command, and print at which instants its phases ended."""
    main: Any = import_module("tacit.cli.main")
    make_app, reached = main.make_app, list[float]()

    def instrumented(first: str) -> Any:
        app = make_app(first)
        places = [
            ("tacit.cli.solve", "solve", True),
            ("tacit.engine.local.cluster.LocalCluster", "__enter__", False),
            ("tacit.engine.local", "open_engine", False),
            ("tacit.engine.coordinator.secure.SecureEngine", "start", False),
            ("tacit.runs.solve", "drive", False),
        ]
        for path, name, is_before in places:
            place = pkgutil.resolve_name(path)
            if callable(place) and not isinstance(place, type):
                place = import_module(path)  # a package offers a function of the same name
            setattr(place, name, _noting(getattr(place, name), reached, is_before=is_before))
        return app

    main.make_app = instrumented
    sys.argv = ["tacit", "solve", problem, "--json"]
    try:
        main.main()
    finally:
        print(json.dumps(reached), flush=True)


def _noting(
    function: Callable[..., Any], reached: list[float], /, *, is_before: bool
) -> Callable[..., Any]:
    def noted(*arguments: Any, **options: Any) -> Any:
        if is_before:
            reached.append(time.monotonic())
        result = function(*arguments, **options)
        if not is_before:
            reached.append(time.monotonic())
        return result

    return noted


def table(content: Content, /) -> list[str]:
    """A Markdown table of medians."""
    runs = content.runs
    lines = ["| | seconds |", "| --- | --- |"]
    for name in PHASES:
        lines.append(f"| {name} | {statistics.median(r.phases[name] for r in runs):.2f} |")
    lines.append(f"| in all | {statistics.median(r.seconds for r in runs):.2f} |")
    processor = statistics.median(r.processor_seconds for r in runs)
    lines.append(f"| of processors | {processor:.2f} |")
    ratio = statistics.median(r.seconds / r.import_numpy for r in runs)
    lines.append(f"| in all, in imports of NumPy | {ratio:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        _solve(options.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "ap.json"
        save_problem(generate_assignment(1, rows=options.rows), problem)
        one(problem)  # modules are compiled once, where that may be kept
        runs = tuple(one(problem) for _ in range(options.runs))
    content = Content(options.rows, os.cpu_count() or 1, runs)
    write_json(options.json, content)
    print("\n".join(table(content)))


if __name__ == "__main__":
    main()
