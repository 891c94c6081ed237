"""Chooses the attack that fits what was disclosed: equations, groups, or pairs."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.audit.attacks.equations import by_equations
from tacit.audit.attacks.pairwise import by_pairs
from tacit.audit.attacks.pointwise import by_groups
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import ITERATIONS, Prior


def by_what_is_disclosed(
    view: View,
    /,
    *,
    prior: Prior,
    found: Mapping[str, Cells],
    iterations: int = ITERATIONS,
    limit: float | None = None,
) -> Cells:
    """Fit what this disclosure gives, starting from the estimate of the plain attack, if any."""
    if view.values is not None:
        return by_equations(view, prior=prior)
    # Pairs are as good as several thresholds at the end of a run, and better at its beginning.
    fit, start = (
        (by_groups, found.get("pointwise"))
        if int(view.levels.max()) == 1
        else (by_pairs, found.get("pairwise"))
    )
    return fit(view, prior=prior, iterations=iterations, start=start, limit=limit)
