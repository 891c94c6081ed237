"""Ask/tell evolutionary search. It knows an Evaluator, never an engine.

The names below are imported when one of them is first used: nodes take the public moves of a
sealed search from here, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.search.evolution import Evolution as Evolution
    from tacit.search.parameters import (
        PRESETS as PRESETS,
        SearchParameters as SearchParameters,
        preset_named as preset_named,
    )
    from tacit.search.state import SearchState as SearchState
else:
    __getattr__ = lazily(__name__)
