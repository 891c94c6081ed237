"""Exact assignment on shares: negative-cycle cancelling with Bellman-Ford potentials.

::

    layout       a problem as a square table of costs, and a plan from a matching
    shape        sizes and bounds, all public
    ties         public tie-breaks
    state        shares of the matching, the prices and the parents between iterations
    start        the first plan: public, or drawn so that nobody knows it
    descent      generations of block descent, which improve a drawn plan cheaply
    iterations   one step of the prices, then the exchange along cycles of parents
    polynomial   which columns are on a cycle, by a public polynomial modulo 2
    exchange     columns on a cycle take the row of their parent; edges at moved columns are cut
    certificate  proof of optimality and the gap, whatever happened before
    outcome      the plan that may be opened at the end of a batch
    checkpoint   whether all plans are proved, opened where that was agreed
    clear        the same over the integers: the specification

docs/protocols/prices-and-cycles.md has the statement, the views and the proofs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.assignment.batch import cost_of_end, cost_of_generations, cost_of_iterations
    from tacit.mpc.assignment.checkpoint import hear_finished, tell_finished
    from tacit.mpc.assignment.clear import ClearAssignment, ClearState
    from tacit.mpc.assignment.descent import descend
    from tacit.mpc.assignment.gap import bound_of, ladder, rung_of
    from tacit.mpc.assignment.iterations import advance, first_state
    from tacit.mpc.assignment.layout import Layout
    from tacit.mpc.assignment.minima import most_compared
    from tacit.mpc.assignment.outcome import Answer, finish, heads, unproved
    from tacit.mpc.assignment.shape import AssignmentShape
    from tacit.mpc.assignment.start import drawn_matching, public_matching
    from tacit.mpc.assignment.state import AssignmentState, kept_sizes, read_state
    from tacit.mpc.assignment.ties import Ties
else:
    __getattr__ = lazily(__name__)
