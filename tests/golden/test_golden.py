"""Seeds give what they gave. `tests/golden/regenerate.py` tells what to do when they do not."""

from __future__ import annotations

import json

import pytest

from tacit.search import PRESETS
from tests.golden.regenerate import FOLDER
from tests.golden.runs import golden_runs, golden_sealed, golden_ties_first


@pytest.mark.parametrize("preset", PRESETS)
def test_runs_give_the_bytes_that_they_gave(preset: str) -> None:
    kept = json.loads((FOLDER / f"{preset}.json").read_text())
    found = golden_runs(preset)
    for before, now in zip(kept["runs"], found["runs"], strict=True):
        assert now == before
    assert found == kept


def test_ties_that_go_to_the_first_evaluated_give_the_bytes_on_record() -> None:
    assert golden_ties_first() == json.loads((FOLDER / "ties-first.json").read_text())


def test_sealed_runs_give_the_bytes_that_they_gave() -> None:
    assert golden_sealed() == json.loads((FOLDER / "sealed.json").read_text())
