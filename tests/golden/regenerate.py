"""Write the golden files anew.

    python -m tests.golden.regenerate

A golden file keeps, for each run, its final value and the SHA-256 of its result without timing.
When `test_golden.py` fails, a seed no longer gives what it gave: that is a mistake, unless the
search, a disclosure or the result's format was changed on purpose. Then regenerate, look at the
values in the diff (they should be as good as before), and say so in CHANGELOG.md, since users'
runs change too.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.search import PRESETS
from tests.golden.runs import golden_runs, golden_sealed, golden_ties_first

FOLDER = Path(__file__).parent


def main() -> None:
    """Write one file per preset, of sealed searches and of another order of ties."""
    files = {preset: golden_runs(preset) for preset in PRESETS}
    files |= {"sealed": golden_sealed(), "ties-first": golden_ties_first()}
    for name, golden in files.items():
        file = FOLDER / f"{name}.json"
        runs = ",\n    ".join(json.dumps(run) for run in golden.pop("runs"))
        head = json.dumps(golden, indent=2).removesuffix("\n}")
        file.write_text(f'{head},\n  "runs": [\n    {runs}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
