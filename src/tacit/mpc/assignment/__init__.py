"""Exact assignment on shares: negative-cycle cancelling with Bellman-Ford potentials.

::

    layout       a problem as a square table of costs, and a plan from a matching
    shape        sizes and bounds, all public
    ties         public tie-breaks
    state        shares of the matching, the prices and the parents between iterations
    iterations   one step of the prices, then the exchange along cycles of parents
    polynomial   which columns are on a cycle, by a public polynomial modulo 2
    exchange     columns on a cycle take the row of their parent; edges at moved columns are cut
    certificate  proof of optimality and the gap, whatever happened before
    clear        the same over the integers: the specification

docs/protocols/prices-and-cycles.md has the statement, the views and the proofs.
"""
