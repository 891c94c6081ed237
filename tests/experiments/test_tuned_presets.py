"""The presets of our own tuning are what the shipped trials say."""

from __future__ import annotations

from importlib.resources import files

import msgspec
import pytest

from tacit.experiments.study import shipped_study
from tacit.experiments.tuning.beside_paper import published_sets
from tacit.search import PRESETS

FOUND_BY = {"tuned-ap": "ap-wide", "tuned-tsp": "tsp-wide"}


@pytest.mark.parametrize(("preset", "name"), FOUND_BY.items())
def test_a_tuned_preset_is_the_best_of_its_trials(preset: str, name: str) -> None:
    raw = (files("tacit.experiments") / "data" / f"{preset}.json").read_bytes()
    found = msgspec.json.decode(raw)
    study = shipped_study(name)
    assert study.tuning is not None
    assert found["task"]["name"] == name
    assert {k: tuple(v) for k, v in found["task"]["space"].items()} == study.tuning.space
    assert len(found["trials"]) >= study.tuning.trials
    settings, values = min(found["trials"], key=lambda trial: trial[1])
    assert settings == found["best"][0]["settings"]
    for setting, value in settings.items():
        assert getattr(PRESETS[preset], setting) == value
        assert value in study.tuning.space[setting]
    assert values[0] <= published_sets(name)[-1].values[0]
    assert found["held_out"]["ours"][0] <= found["held_out"][study.preset][0]


def test_every_tuned_preset_has_its_trials() -> None:
    assert {name for name in PRESETS if name.startswith("tuned-")} == set(FOUND_BY)
