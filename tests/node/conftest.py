"""The files of a cluster that nobody starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.identity.cluster import write_cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_cluster(tmp_path, [f"127.0.0.1:{port}" for port in (1, 2, 3)], chosen_populations=True)
    return tmp_path
