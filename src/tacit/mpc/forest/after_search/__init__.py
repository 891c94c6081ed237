"""The forest as the finish of a search: it begins with the search's plan instead of nothing.

::

    matching    the plan as a matching of the forest, from its ids
    cycles      along which the matching gets cheaper, taken while prices are sought
    duals       prices under which as much of it as possible is tight; the rest goes free
    better      at the end, of the two matchings the cheaper one

A good plan has few rows that the forest must place anew, whatever the family of costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.forest.after_search.clear import matching_of_plan, warm_start_in_the_clear
    from tacit.mpc.forest.after_search.duals import STEPS, cost_of_warm_start, warm_start
else:
    __getattr__ = lazily(__name__)
