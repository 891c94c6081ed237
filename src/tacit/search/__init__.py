"""Ask/tell evolutionary search. It knows an Evaluator, never an engine.

The names below are imported when one of them is first used: nodes take the public moves of a
sealed search from here, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.search.crossover import crossover_named, crossovers
    from tacit.search.evolution import Evolution, GenerationWords, SearchState, WordBudget, warm_up
    from tacit.search.genomes import RandomWords, draw_words, random_permutations, repair, threshold
    from tacit.search.mutation import mutation_named, mutations
    from tacit.search.parameters import (
        PRESETS,
        TIES,
        SearchParameters,
        Ties,
        parameters_of,
        preset_named,
        resembles_a_preset,
    )
    from tacit.search.sealed import ClearTour, weighted_values
    from tacit.search.selection import tournament
else:
    __getattr__ = lazily(__name__)
