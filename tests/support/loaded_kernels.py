"""Loads the kernels with which nodes follow searches, when it is imported: a fork server does."""

from __future__ import annotations

from tacit.problems import generate_assignment, generate_tour
from tacit.search import PRESETS, warm_up


def _load() -> None:
    for name, parameters in PRESETS.items():
        several = 2 if parameters.algorithm == "nsga2" else 1
        is_tour = name.endswith("tsp")
        warm_up(
            generate_tour(1, cities=4)
            if is_tour
            else generate_assignment(1, rows=3, objectives=several),
            parameters,
        )


_load()
