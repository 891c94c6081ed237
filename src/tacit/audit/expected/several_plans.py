"""How much several plans of one sealed agreement tell together, measured.

Two objectives with independent weights on 40 x 40, plans of the simulated search under its default
settings, estimated by how often the plans use a cell. The platform chooses the generations, and so
the figures are those of the number of generations that tells most: about 100 for one or two plans,
10 to 20 for many, whose plans are then worse and more different. Optima, which the exact solver
finds, are much alike and tell less: 101 of them 0.32. Weightings that are spread over
both objectives tell of each; those that are close to one objective alone tell most of that one.
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
    PlansTogether(1, 0.25, 0.25),
    PlansTogether(2, 0.25, 0.31),
    PlansTogether(5, 0.37, 0.43),
    PlansTogether(16, 0.47, 0.57),
    PlansTogether(64, 0.63, 0.75),
    PlansTogether(128, 0.69, 0.81),
)


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
        f"{one.close:.2f}, the more the closer the weightings are to each other."
    ]
