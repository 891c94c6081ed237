"""The attacks, one per file: each makes an estimate of the secret cells from a view.

`ATTACKS` are those of an honest but curious platform, in the order in which they are tried; a
later one may start from what an earlier one found. `ROBUST` names the strongest for most views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tacit.audit.attacks import (
    anchor,
    combination,
    equations,
    frequency,
    pairwise,
    plan_only,
    pointwise,
    regression,
)
from tacit.audit.view import Cells, View

Attack = Callable[[View, Mapping[str, Cells]], Cells | None]

BASELINE = "plan only"
ATTACKS: dict[str, Attack] = {
    BASELINE: plan_only.recover,
    "frequency": frequency.recover,
    "regression": regression.recover,
    "equations": equations.recover,
    "pairwise": pairwise.recover,
    "pointwise": pointwise.recover,
    "anchor": anchor.recover,
    "combination": combination.recover,
}


def main_attack(view: View, /) -> Cells:
    """The one attack that is strongest by and large: equations, groups, or pairs.

    >>> from tacit.audit.example import example_view
    >>> main_attack(example_view("order")).shape
    (36,)
    """
    for name in ("equations", "pointwise", "pairwise"):
        estimate = ATTACKS[name](view, {})
        if estimate is not None:
            return estimate
    raise AssertionError("a view has exact values, groups or ranks")
