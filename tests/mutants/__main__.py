"""Tries every mutation: `python -m tests.mutants [NAME ...] [--quick] [--json] [--write]`.

Exit status 1 if a mutation survives, or if its tests could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutation import ROOT, Mutation, mutations
from tests.mutants.page import PAGE, outcome_of, outcomes, page
from tests.mutants.run import Result, copied_tree, run_tests, try_mutation

PROCESSES = 2


def chosen(names: Sequence[str]) -> list[Mutation]:
    """The mutations of these names or rooms, or all."""
    listed = mutations()
    unknown = set(names) - {word for each in listed for word in (each.name, each.room)}
    if unknown:
        sys.exit(f"no mutation is called {', '.join(sorted(unknown))}; see tests/mutants/lists")
    return [each for each in listed if not names or {each.name, each.room} & {*names}]


def check_unchanged(
    tried: Sequence[Mutation], copies: Sequence[Path], pool: ThreadPoolExecutor
) -> None:
    """End unless the tests pass without any mutation: a kill would say nothing."""
    tests = sorted({test for each in tried for test in each.tests})
    parts = [part for k in range(PROCESSES) if (part := tests[k::PROCESSES])]
    for status, output in pool.map(run_tests, copies, parts):
        if status != 0:
            sys.exit(f"tests fail without a mutation; nothing was tried\n{output[-2000:]}")


def line(result: Result) -> str:
    """One line of the table."""
    return f"{result.outcome:10} {result.seconds:6.1f} s  {result.name:40} {result.by}"


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations or rooms; else all")
    parser.add_argument("--quick", action="store_true", help="only the tests named in the lists")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write", action="store_true", help=f"update {PAGE.relative_to(ROOT)}")
    return parser.parse_args(arguments)


def results_of(tried: Sequence[Mutation], *, quick: bool) -> Iterator[Result]:
    """Try each mutation, several at a time, in copies that serve for many."""
    with ExitStack() as stack:
        copies = [stack.enter_context(copied_tree()) for _ in range(PROCESSES)]
        pool = stack.enter_context(ThreadPoolExecutor(PROCESSES))
        check_unchanged(tried, copies, pool)
        free: SimpleQueue[Path] = SimpleQueue()
        for copy in copies:
            free.put(copy)

        def attempt(mutation: Mutation) -> Result:
            copy = free.get()
            try:
                return try_mutation(mutation, copy, quick=quick)
            finally:
                free.put(copy)

        yield from pool.map(attempt, tried)


def main() -> int:
    """Try mutations, print the table, and write the page if asked for."""
    options = options_of()
    tried = chosen(options.names)
    for each in tried:
        each.changed(ROOT)  # an entry that no longer fits ends it all, before anything runs
    results = []
    for result in results_of(tried, quick=options.quick):
        results.append(result)
        print(line(result), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    if options.write:
        said = outcomes() | {result.name: outcome_of(result) for result in results}
        PAGE.write_text(page(mutations(), said))
    alive = [result.name for result in results if not result.fine]
    print(f"{len(results) - len(alive)} of {len(results)} noticed or equivalent", file=sys.stderr)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
