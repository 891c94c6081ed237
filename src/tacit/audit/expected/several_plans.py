"""How much several plans of one sealed agreement tell together, measured.

Two objectives with independent weights on 40 x 40, plans of the simulated run after so many
generations of its descent as tell most, estimated by how often the plans use a cell: the larger one
of two problems. Plans after 2 to 5 generations are worse and more different than later ones. Nodes
open those only to a platform that lets the deadline pass; after the least iterations, a third of
all, plans are nearly optima, which are much alike. Weightings that are spread over both objectives
tell of each; those that are close to one objective alone tell most of that one.
`tests/audit/expected/test_several_plans.py` measures it again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlansTogether:
    """What so many plans tell of one objective, on the scale of all figures."""

    plans: int
    spread: float
    """If their weightings are spread evenly over two objectives."""
    close: float
    """If all of them are close to that objective alone."""


MEASURED = (
    PlansTogether(1, 0.26, 0.26),
    PlansTogether(2, 0.26, 0.33),
    PlansTogether(5, 0.37, 0.43),
    PlansTogether(16, 0.45, 0.60),
    PlansTogether(64, 0.61, 0.75),
    PlansTogether(128, 0.68, 0.81),
)
AFTER_LEAST = 0.34
"""What any number of them tells after a third of the iterations."""


def plans_together(plans: int, /) -> PlansTogether:
    """The measurement of so many plans, or of the next larger number.

    >>> plans_together(3).plans
    5
    """
    return next((each for each in MEASURED if each.plans >= plans), MEASURED[-1])


def words_for_plans(plans: int, /) -> list[str]:
    """What whoever reads of one plan must know where several are opened."""
    if plans < 2:
        return []
    one, together = MEASURED[0], plans_together(plans)
    return [
        f"That is for one plan; this agreement opens {plans}, one for each weighting of the "
        f"objectives, and they add up: on 40 x 40 independent values, {together.plans} plans told "
        f"{together.spread:.2f} to {together.close:.2f} of an objective where one told "
        f"{one.close:.2f}, the more the closer the weightings are to each other. That is after few "
        f"steps, as plans are opened where the deadline comes first; after a third of all "
        f"iterations they told at most {AFTER_LEAST:.2f}."
    ]
