"""`make faults`: random faults over real processes, and what must hold after each.

python -m tests.faults --faults 60 --seed 1   sixty faults, with the seeds 1 to 60 (root)
python -m tests.faults --faults 1 --seed 17   the fault of seed 17 again
python -m tests.faults --json FILE            write every fault and all figures to a file, too
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from studies.benchmarks.measuring import write_json

from tests.deployment.hosts import why_not
from tests.faults.clocks import library
from tests.faults.harness import line_of
from tests.faults.seeds import run_seeds


def main() -> int:
    """Strike; 1 if anything did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first; the next has one more")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy all logs there")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    if reason := why_not():
        parser.error(reason)
    if library() is None:
        parser.error("there is no libfaketime; install Debian's faketime")
    begun = time.monotonic()
    seeds = range(given.seed, given.seed + given.faults)
    episodes, figures = run_seeds(seeds, given.keep)
    print("\nAll faults:")
    for each in episodes:
        print(line_of(each))
    for sizes in figures:
        print(sizes)
    good = sum(not each.violations for each in episodes)
    print(f"{good} of {len(episodes)} faults left everything as it must be")
    for each in episodes:
        if each.violations:
            print(f"repeat it with: make faults FAULTS=1 SEED={each.seed}", file=sys.stderr)
    summary = {
        "faults": len(episodes),
        "good": good,
        "minutes": round((time.monotonic() - begun) / 60, 1),
        "load": os.getloadavg()[0],
        "arenas": figures,
        "episodes": episodes,
    }
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
    write_json(given.json, summary)
    return 0 if good == len(episodes) else 1


if __name__ == "__main__":
    sys.exit(main())
