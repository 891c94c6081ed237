"""The attacks: each makes an estimate of the secret cells from a view.

`ATTACKS` are those of a semi-honest platform, in the order in which they are tried; a later one may
start from the estimate of an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tacit.audit.attacks import (
    anchor,
    equations,
    pairwise,
    pointwise,
    regression,
    undisclosed,
)
from tacit.audit.record.view import Cells, View

Attack = Callable[[View, Mapping[str, Cells]], Cells | None]

BASELINE = "plan only"
ATTACKS: dict[str, Attack] = {
    BASELINE: undisclosed.by_published_plans,
    "frequency": undisclosed.by_frequency,
    "regression": regression.recover,
    "equations": equations.recover,
    "pairwise": pairwise.recover,
    "pointwise": pointwise.recover,
    "anchor": anchor.recover,
    "combination": anchor.recover_combined,
}


MAIN = ("equations", "pairwise", "pointwise", "anchor")
ON_BITS = ("pointwise", "anchor")
"""With several groups they rarely find more than pairs do."""
LONG_RUN = 200
"""From this many evaluations on they find more than pairs, so pairs of bits are left out."""


def main_attacks(view: View, /) -> dict[str, Cells]:
    """The attacks that are usually the strongest, where trying all would take too long."""
    found: dict[str, Cells] = {}
    for name in MAIN:
        bits = view.values is None and int(view.levels.max()) == 1
        if name in ON_BITS and not bits:
            continue
        if name == "pairwise" and bits and view.evaluations >= LONG_RUN:
            continue
        estimate = ATTACKS[name](view, found)
        if estimate is not None:
            found[name] = estimate
    return found
