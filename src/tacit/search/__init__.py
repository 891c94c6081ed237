"""Ask/tell evolutionary search. It knows an Evaluator, never an engine.

The names below are imported when one of them is first used: nodes take the public moves of a
sealed search from here, and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.search.evolution import Evolution
    from tacit.search.parameters import PRESETS, SearchParameters, preset_named
    from tacit.search.state import SearchState

_HOME = {
    "PRESETS": "tacit.search.parameters",
    "Evolution": "tacit.search.evolution",
    "SearchParameters": "tacit.search.parameters",
    "SearchState": "tacit.search.state",
    "preset_named": "tacit.search.parameters",
}

__all__ = ["PRESETS", "Evolution", "SearchParameters", "SearchState", "preset_named"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tacit.search' has no attribute {name!r}")
