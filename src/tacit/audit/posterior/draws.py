"""Draws of independent uniform weights given the bits of `top:k`, and the limit that they set.

The secret is itself a draw from the posterior. So the correlation of the posterior's mean with the
secret is, on average, the length of that mean in units of the length of a draw, and no estimate
has more. Both lengths are known without the secret. Chains from different first points show how
far the draws still depend on where they began.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.anchor import anchored_prior
from tacit.audit.posterior.constraints import Constraints, constraints_of
from tacit.audit.posterior.first_point import fitting_point
from tacit.audit.posterior.sweep import Place, highest_of, lowest_of, sweep
from tacit.audit.record.view import Cells, View
from tacit.audit.score.measure import as_matrix, cells_that_count, centred

HALF_RANGE = sqrt(3)
"""Cells are in units of their spread, so they are uniform from minus to plus this."""
DRAW_EVERY = 4
"""In the other sweeps cells are reflected, not drawn."""
REFRESH_EVERY = 50
"""Scores are computed anew after so many sweeps, before rounding errors add up."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What is kept of a chain; matrices are centred as the measure of leakage centres them."""

    mean: Cells
    centred_mean: NDArray[np.float64]
    length: float
    """The root of the mean square of a centred draw."""
    violated: int
    """How many evaluations the last draw does not fit: 0, or the first point was too far off."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of independent uniform cells given a view."""

    view: View

    @cached_property
    def bounds(self) -> tuple[Constraints, Any]:
        """The constraints, and their matrix."""
        return constraints_of(self.view)

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Cells that count."""
        return cells_that_count(self.view.problem)

    def first_point(self, rng: np.random.Generator, /) -> Cells:
        """Cells drawn from the prior, moved until they fit what is disclosed."""
        drawn = rng.uniform(-HALF_RANGE, HALF_RANGE, self.view.cell_count)
        near = np.clip(anchored_prior(self.view, drawn).mean, -HALF_RANGE, HALF_RANGE)
        return fitting_point(self.view, *self.bounds, near, HALF_RANGE)

    def draws(
        self, first: Cells, /, *, sweeps: int, dropped: int, rng: np.random.Generator
    ) -> Draws:
        """Run a chain; the mean is over the sweeps after the first `dropped`."""
        constraints, _ = self.bounds
        place, length = self._place(first), 0.0
        for number in range(sweeps):
            if number % REFRESH_EVERY == 0:
                place = self._place(place.cells)._replace(middles=place.middles)
            if number == dropped:
                place.middles[:] = 0.0
            reflect = number % DRAW_EVERY != 0
            sweep(constraints, place, rng.random(len(first)), HALF_RANGE, reflect)
            if number >= dropped:
                length += float((self.centred(place.cells) ** 2).sum())
        kept = sweeps - dropped
        mean = place.middles / kept
        place = self._place(place.cells)
        gaps = place.scores[place.lowest] - place.scores[place.highest]
        violated = int((gaps < -1e-6).sum())
        return Draws(mean, self.centred(mean), sqrt(length / kept), violated)

    def centred(self, cells: Cells, /) -> NDArray[np.float64]:
        """The cells that count, without the constants of rows and columns."""
        return centred(as_matrix(self.view.problem, cells), self.counts)[self.counts]

    def _place(self, cells: Cells) -> Place:
        bounds, matrix = self.bounds
        scores = np.asarray(matrix @ cells)
        ends = zip(bounds.begins[:-1], bounds.rest, bounds.begins[1:], strict=True)
        low_high = [(lowest_of(scores, a, b), highest_of(scores, b, c)) for a, b, c in ends]
        lowest, highest = np.array(low_high, dtype=np.int64).T.copy()
        return Place(cells.copy(), scores, lowest, highest, np.zeros(len(cells)))


def limit_between(one: Draws, other: Draws, /) -> float:
    """The highest correlation that any estimate has on average, from two independent chains.

    The product of two means, not the square of one, which chance would make longer.
    """
    shared = float(one.centred_mean @ other.centred_mean)
    return sqrt(max(shared, 0.0) / (one.length * other.length))


@dataclass(frozen=True, eq=False)
class Bound:
    """An estimate, and what no estimate exceeds on average."""

    estimate: Cells
    """The mean of all draws."""
    limit: float
    violated: int


def bound_of(view: View, /, *, sweeps: int, dropped: int, seed: int = 0) -> Bound:
    """The bound of a view under `top:k`, by two chains from different first points.

    With few sweeps the draws are too close to where they began: the estimate is then worse than
    the posterior's mean, and the limit too high. What is true lies between the two.
    """
    posterior, rng = Posterior(view), np.random.Generator(np.random.PCG64(seed))
    one, other = (
        posterior.draws(posterior.first_point(rng), sweeps=sweeps, dropped=dropped, rng=rng)
        for _ in range(2)
    )
    violated = max(one.violated, other.violated)
    return Bound((one.mean + other.mean) / 2, limit_between(one, other), violated)
