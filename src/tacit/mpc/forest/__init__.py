"""The proven optimum of a secret assignment: a forest of shortest augmenting paths on shares.

A primal-dual method that does the same whatever the costs are (docs/protocols/sealed-forest.md).
`start`, `advance` phase by phase, and `finish`, which completes the matching, proves that it is the
optimum if it is, and gives shares of the plan and of what is proved. Nothing is opened here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.forest.after_search.clear import matching_of_plan, warm_start_in_the_clear
    from tacit.mpc.forest.after_search.duals import STEPS, cost_of_warm_start, warm_start
    from tacit.mpc.forest.clear import ClearForest, ClearState
    from tacit.mpc.forest.clear_outcome import ClearAnswer, finish_in_the_clear
    from tacit.mpc.forest.coins import Coins
    from tacit.mpc.forest.first_duals import start
    from tacit.mpc.forest.layout import MOSTLY, Layout
    from tacit.mpc.forest.minima import most_compared
    from tacit.mpc.forest.outcome import Answer, Outcome, finish
    from tacit.mpc.forest.phases import advance, cost
    from tacit.mpc.forest.schedule import Phase, checked, finishing, largest_epsilon, plain, scaled
    from tacit.mpc.forest.shape import ForestShape
    from tacit.mpc.forest.state import ForestState
    from tacit.mpc.forest.told.checkpoint import hear_finished, tell_finished
    from tacit.mpc.forest.told.gap import bound_of, ladder, rung_of
else:
    __getattr__ = lazily(__name__)
