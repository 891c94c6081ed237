"""What an opened plan tells where pairs are forbidden, so that the search began with a public plan.

Measured by `studies/benchmarks/known_start.py`, whose figures are in
docs/figures/known-start.json: plans after the least number of iterations that an agreement names,
and optima. Earlier plans tell less, also together with the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from tacit.audit.record.schedule import first_columns

if TYPE_CHECKING:
    from tacit.agreement import Agreement

MEASURED_KIND = "assignment"
EXCEEDS = 0.02
"""By so much more than the figure of plans as such it is shown."""


@dataclass(frozen=True, slots=True)
class PublicStart:
    """What plans of one kind of problem told, on the scale of all figures."""

    alone: float
    """The opened plan by itself."""
    with_start: float
    """The opened plan and the public one."""


SCHEDULES = {30: PublicStart(0.71, 0.71), 100: PublicStart(0.75, 0.77)}
"""By rows, of what the schedule leaves open: of linear costs, which give away more than delays."""
MASKS = {6: PublicStart(0.52, 0.52), 24: PublicStart(0.33, 0.33), 80: PublicStart(0.19, 0.19)}
"""By allowed pairs per row, of independent costs: of few pairs a plan tells more."""


def public_start(agreement: Agreement, /) -> PublicStart | None:
    """Return what was measured on problems like this one; None if the start of a run is secret."""
    problem = agreement.problem
    if not (agreement.sealed and problem.forbidden and problem.kind == MEASURED_KIND):
        return None
    if first_columns(problem.forbidden, problem.rows) is not None:
        return between(SCHEDULES, min(problem.rows, max(SCHEDULES)))
    allowed = problem.rows * problem.columns - len(set(problem.forbidden))
    return between(MASKS, allowed / problem.rows)


def between(measured: Mapping[int, PublicStart], size: float, /) -> PublicStart:
    """Return the figures at a size: powers of it between and beyond those that were measured.

    Below the smallest its figures are used.

    >>> between({1: PublicStart(0.8, 0.8), 4: PublicStart(0.4, 0.4)}, 16).alone
    0.2
    """
    sizes = sorted(measured)
    at = max((k for k, each in enumerate(sizes[:-1]) if each <= size), default=0)
    low, high = sizes[at], sizes[at + 1]
    share = max(0.0, log(max(size, low) / low) / log(high / low))
    one, other = measured[low], measured[high]
    return PublicStart(
        one.alone * (other.alone / one.alone) ** share,
        one.with_start * (other.with_start / one.with_start) ** share,
    )


def words_for_start(start: PublicStart | None, /, *, plan: float) -> list[str]:
    """Return what to say beside the figure of a plan as such, where this one is larger.

    >>> words_for_start(PublicStart(0.5, 0.52), plan=0.51)
    []
    """
    if start is None or start.with_start <= plan + EXCEEDS:
        return []
    return [
        "Pairs are forbidden, so the search begins with a plan that everybody can work out, and "
        f"the plan tells more: on similar problems {start.alone:.2f} by itself, and "
        f"{start.with_start:.2f} together with that one."
    ]
