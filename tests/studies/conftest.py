"""Small studies that take a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = """
name = "small"
preset = "paper-ap"
parameters = {{ population = 60, elites = 5, tournament = 4 }}
generations = {generations}
disclosures = ["none", "top:15"]
seeds = {{ first = 0, count = {seeds} }}

[[instances]]
generate = "assignment"
size = {size}
seed = 1000
numbers = [1, 2]
"""


@pytest.fixture
def small_study(tmp_path: Path) -> Callable[..., Path]:
    """Write a small study file; what differs is given."""

    def write(*, generations: int = 8, seeds: int = 2, size: int = 10, more: str = "") -> Path:
        path = tmp_path / "small.toml"
        path.write_text(SMALL.format(generations=generations, seeds=seeds, size=size) + more)
        return path

    return write
