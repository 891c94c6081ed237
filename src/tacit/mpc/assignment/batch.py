"""The cost of a batch of steps, for whoever plans how many of them there are."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.mpc.assignment import descent, iterations, outcome
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.cost import Cost
from tacit.mpc.sealed.moves import Moves


def cost_of_generations(
    nodes: int, shape: AssignmentShape, moves: Moves, *, bits: int, levels: int, count: int
) -> Cost:
    """Return the cost of some generations of block descent in one session."""
    return descent.cost(nodes, shape, moves, bits=bits, generations=count, levels=levels)


def cost_of_iterations(nodes: int, shape: AssignmentShape, *, count: int, lag: int) -> Cost:
    """Return the cost of some iterations in one session."""
    return iterations.cost(nodes, shape, iterations=count, lag=lag)


def cost_of_end(nodes: int, shape: AssignmentShape, *, ladder: Sequence[int]) -> Cost:
    """Return the cost of the proof and of the plan that may be opened."""
    return outcome.cost(nodes, shape, steps=ladder)
