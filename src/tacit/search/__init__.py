"""Ask/tell evolutionary search. It knows an Evaluator, never an engine."""

from tacit.search.evolution import Evolution
from tacit.search.parameters import PRESETS, SearchParameters, preset_named
from tacit.search.state import SearchState

__all__ = ["PRESETS", "Evolution", "SearchParameters", "SearchState", "preset_named"]
