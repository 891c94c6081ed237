"""Ask/tell evolutionary search. It knows an Evaluator, never an engine.

The names below are imported when one of them is first used: nodes take the public moves of a
sealed search from here, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.search.evolution import Evolution, GenerationWords, WordBudget
    from tacit.search.operators.crossover import crossover_named, crossovers
    from tacit.search.operators.initial import random_permutations
    from tacit.search.operators.mutation import mutation_named, mutations
    from tacit.search.operators.repair import repair
    from tacit.search.operators.selection.genetic import tournament
    from tacit.search.parameters import (
        PRESETS,
        SearchParameters,
        preset_named,
        resembles_a_preset,
        settings_written,
    )
    from tacit.search.random_words import RandomWords, draw_words, threshold
    from tacit.search.sealed import ClearSealedSearch, weighted_values
    from tacit.search.state import SearchState
    from tacit.search.ties import FORMER_TIES, TIES, Ties
    from tacit.search.warming import warm_up
else:
    __getattr__ = lazily(__name__)
