"""`make fuzz`: all targets, or those named; a finding is repeated by its seed.

python -m tests.fuzz                        everything, for an hour
python -m tests.fuzz agreements --seed 17   one target, from this seed on
python -m tests.fuzz --share 0.01 --json    a hundredth of it, with a summary for programs
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict

import msgspec

from tests.fuzz.harness import Outcome, fuzz
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Fuzz; 1 if there was a finding."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the targets.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(names)}")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--share", type=float, default=1.0, help="of the whole counts, such as 0.1")
    parser.add_argument("--count", type=int, help="things to try per target, in place of a share")
    parser.add_argument("--json", action="store_true", help="print a summary for programs")
    given = parser.parse_args()
    if unknown := set(given.targets) - set(names):
        parser.error(f"there is no target {min(unknown)!r}; choose of {', '.join(names)}")
    outcomes = []
    for target in TARGETS:
        if given.targets and target.name not in given.targets:
            continue
        count = given.count or max(1, int(target.count * given.share))
        begun = time.monotonic()

        def show(outcome: Outcome, *, count: int = count, begun: float = begun) -> None:
            _show(outcome, count, time.monotonic() - begun)

        outcomes.append(fuzz(target, count=count, seed=given.seed, progress=show))
        _show(outcomes[-1], count, time.monotonic() - begun, end="\n")
        if outcomes[-1].finding:
            again = f"python -m tests.fuzz {target.name} --count {count} --seed {outcomes[-1].seed}"
            print(f"{outcomes[-1].finding}\nrepeat it with: {again}", file=sys.stderr)
    if given.json:
        summary = {"seed": given.seed, "targets": [asdict(each) for each in outcomes]}
        print(msgspec.json.encode(summary).decode())
    return 1 if any(each.finding for each in outcomes) else 0


def _show(outcome: Outcome, count: int, seconds: float, *, end: str = "") -> None:
    """One line on standard error, rewritten on a terminal as it goes on."""
    if not end and not sys.stderr.isatty():
        return
    found = "FOUND SOMETHING" if outcome.finding else ""
    line = (
        f"{outcome.target:<11} {outcome.tried:>9,} of {count:,}, {outcome.refused:,} refused, "
        f"slowest {outcome.slowest * 1000:.0f} ms, {seconds:.0f} s {found}"
    )
    print(f"\r{line}" if sys.stderr.isatty() else line, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
