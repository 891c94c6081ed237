"""The folder of the repository, for tests of its documents and programs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
