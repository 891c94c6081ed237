"""Exact assignment on shares: negative-cycle cancelling with Bellman-Ford potentials.

::

    layout       a problem as a square table of costs, with its public sizes and bounds
    state        shares of the matching, the prices and the parents; the first plan
    descent      generations of block descent, which improve a drawn plan cheaply
    minima       the least candidate of each column, with public tie-breaks
    exchange     columns on a cycle of parents take the row of their parent; edges are cut
    iterations   one step of the prices, then the exchange
    proof        the plan that may be opened, whether it is proved, and checkpoints
    clear        the same over the integers: the specification

docs/protocols/prices-and-cycles.md has the statement, the views and the proofs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.assignment.clear import ClearAssignment, ClearState
    from tacit.mpc.assignment.descent import cost_of_generations, descend
    from tacit.mpc.assignment.iterations import advance, cost_of_iterations, first_state
    from tacit.mpc.assignment.layout import AssignmentShape, Layout
    from tacit.mpc.assignment.minima import Ties, most_compared
    from tacit.mpc.assignment.proof import (
        PlanShares,
        bound_of,
        cost_of_end,
        finish,
        heads,
        hear_finished,
        ladder,
        rung_of,
        tell_finished,
        unproved,
    )
    from tacit.mpc.assignment.state import (
        AssignmentState,
        drawn_matching,
        kept_sizes,
        public_matching,
        read_state,
    )
else:
    __getattr__ = lazily(__name__)
