"""The public side of a sealed search: which children each generation has, and the noise on them.

Everything here follows from the agreement, the seed and the number of the generation, so the nodes
and everybody else derive the same, bit for bit. It is integer arithmetic throughout.
"""

from tacit.search.moves.move_set import MoveSet as MoveSet
from tacit.search.moves.parameters import (
    ONE_PARENT_IMPROVES as ONE_PARENT_IMPROVES,
    SEALED_PRESETS as SEALED_PRESETS,
    SealedParameters as SealedParameters,
    sealed_parameters_for as sealed_parameters_for,
)
from tacit.search.moves.schedule import Generation as Generation, Schedule as Schedule
from tacit.search.moves.shape import PublicShape as PublicShape, public_shape as public_shape
