"""`pareto:...`: an order of the Pareto score of all objectives together, and nothing of each.

One evaluation of several objectives, of which `pareto:order`, `pareto:quantiles:k` and
`pareto:top:k` reveal what these reveal of one (see `pareto_score`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.best import BestMode
from tacit.disclosure.method import Disclosure
from tacit.disclosure.order import Order
from tacit.disclosure.quantiles import Quantiles
from tacit.disclosure.top import Top
from tacit.errors import DisclosureError

PARETO = "pareto"


@dataclass(frozen=True)
class Pareto(Disclosure):
    """Reveals of the Pareto score what `shown` reveals of a fitness.

    >>> Pareto(Top(2)).disclose(np.array([3, 1, 2, 0]))
    array([ True, False,  True, False])
    """

    shown: Disclosure
    method: ClassVar[str] = PARETO
    usual_best: ClassVar[BestMode] = BestMode.NOTHING

    def __post_init__(self) -> None:
        if not isinstance(self.shown, Order | Quantiles | Top):
            raise DisclosureError(
                f"a Pareto score has an order and no values, which {self.shown.text} would need; "
                "use pareto:order, pareto:quantiles:20 or pareto:top:60"
            )

    @property
    def text(self) -> str:
        """Such as `pareto:quantiles:20`."""
        return f"{self.method}:{self.shown.text}"

    @property
    def tells_flags(self) -> bool:
        """As what is shown does."""
        return self.shown.tells_flags

    @property
    def least_individuals(self) -> int:
        """As many as what is shown needs."""
        return self.shown.least_individuals

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[Any]:
        """What is revealed of scores (`pareto_score`), of which larger is better."""
        return self.shown.disclose(fitness)

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """The group of each candidate, 0 for the best."""
        return self.shown.levels(disclosed)

    def distinct_values(self, individuals: int, /) -> int:
        """As many as what is shown can reveal."""
        return self.shown.distinct_values(individuals)
