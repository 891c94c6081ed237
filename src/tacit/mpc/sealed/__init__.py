"""Search of a tour on shares: nothing is opened but its last plan, to the coordinator alone.

::

    start       the places in a secret order                        4 rounds
    generation  winners: shuffle, compare, indicators as shares     2 + (1 + log2 bits) + 2
                         (one comparison per level)
                update: the parent becomes its winning children     2
                best: keep the better of parent and best so far     beside the last two steps
                parent selection, every few generations             1
    settle      the best of all so far, which may be opened         2 + (1 + log2 bits) + 3

With four nodes, 3 in place of 2 for every shuffle and for indicators.

`advance` is what a node runs for a number of generations. docs/protocols/sealed-search.md argues
why nobody learns anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.sealed.generations import advance, cost, most_compared
    from tacit.mpc.sealed.moves import Step, TableShape
    from tacit.mpc.sealed.state import SealedState, secret_start, state_sizes
else:
    __getattr__ = lazily(__name__)
