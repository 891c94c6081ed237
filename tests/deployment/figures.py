"""Figures of a deployment: printed, and kept as JSON in out/deployment."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "out" / "deployment"


class Figures:
    """One list of measurements, which is written even where the test fails."""

    def __init__(self, name: str) -> None:
        self._path = FOLDER / f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
        self._rows: list[dict[str, Any]] = []

    def add(self, **values: Any) -> None:
        self._rows.append(values)
        print(values, file=sys.stderr, flush=True)

    def write(self) -> None:
        if self._rows:
            FOLDER.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._rows, indent=1) + "\n")
