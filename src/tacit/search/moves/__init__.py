"""The public side of a sealed search: which children each generation has, and the noise on them.

Everything here follows from the agreement, the seed and the number of the generation, so the nodes
and everybody else derive it alike, bit for bit. It is whole numbers throughout.
"""

from tacit.search.moves.move_set import MoveSet
from tacit.search.moves.parameters import (
    ONE_PARENT_IMPROVES,
    SEALED_PRESETS,
    SealedParameters,
    sealed_parameters_for,
)
from tacit.search.moves.schedule import Generation, Schedule
from tacit.search.moves.shape import PublicShape, public_shape

__all__ = [
    "ONE_PARENT_IMPROVES",
    "SEALED_PRESETS",
    "Generation",
    "MoveSet",
    "PublicShape",
    "Schedule",
    "SealedParameters",
    "public_shape",
    "sealed_parameters_for",
]
