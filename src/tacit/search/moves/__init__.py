"""The public side of a sealed run: which moves each generation compares, and the noise on them.

Everything here follows from the agreement, the seed and the number of the generation, so the nodes
and everybody else derive the same, bit for bit. It is integer arithmetic throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.search.moves.blocks import BlockDescent
    from tacit.search.moves.move_set import MoveSet
    from tacit.search.moves.parameters import (
        MOST_GENERATIONS,
        SEALED_PRESETS,
        SETTINGS,
        AssignmentParameters,
        SealedParameters,
        TourParameters,
        fitted_parameters,
        named_settings,
        sealed_parameters_for,
    )
    from tacit.search.moves.schedule import Generation, PublicShape, TourSchedule, public_shape
else:
    __getattr__ = lazily(__name__)
