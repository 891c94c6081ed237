"""Tries every mutation: `python -m tests.mutants [NAME ...] [--quick] [--json] [--write]`.

Exit status 1 if a mutation survives, or if its tests could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from tests.mutants.mutation import ROOT, Mutation, mutations
from tests.mutants.page import PAGE, outcome_of, outcomes, page
from tests.mutants.run import ALL, Result, copied_tree, run_tests, try_mutation

PROCESSES = 2


def chosen(names: Sequence[str]) -> list[Mutation]:
    """The mutations of these names, or all."""
    listed = mutations()
    unknown = set(names) - {each.name for each in listed}
    if unknown:
        sys.exit(f"no mutation is called {', '.join(sorted(unknown))}; see mutations.toml")
    return [each for each in listed if not names or each.name in names]


def check_unchanged(tried: Sequence[Mutation], pool: ThreadPoolExecutor) -> None:
    """End unless the tests pass without any mutation: a kill would say nothing."""
    tests = sorted({test for each in tried for test in each.tests})
    parts = [part for k in range(PROCESSES) if (part := tests[k::PROCESSES])]
    with copied_tree({}) as copy:
        for status, output in pool.map(lambda part: run_tests(copy, part), parts):
            if status != 0:
                sys.exit(f"tests fail without a mutation; nothing was tried\n{output[-2000:]}")


def line(result: Result) -> str:
    """One line of the table."""
    return f"{result.outcome:10} {result.seconds:6.1f} s  {result.name:40} {result.by}"


def main() -> int:
    """Try mutations, print the table, and write the page if asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations to try, otherwise all")
    parser.add_argument("--quick", action="store_true", help="only the tests named in the list")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write", action="store_true", help=f"update {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    tried = chosen(options.names)
    for each in tried:
        each.changed(ROOT)  # an entry that no longer fits ends it all, before anything runs
    everything = () if options.quick else ALL
    results = []
    with ThreadPoolExecutor(PROCESSES) as pool:
        check_unchanged(tried, pool)
        for result in pool.map(lambda each: try_mutation(each, everything), tried):
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
