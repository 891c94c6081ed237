"""`sealed`: the search itself runs on the nodes, and no evaluation is disclosed at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.best import BestMode
from tacit.disclosure.method import Disclosure
from tacit.errors import DisclosureError

SEALED = "sealed"


@dataclass(frozen=True)
class Sealed(Disclosure):
    """Reveals nothing of any evaluation: only the final plan of a search is opened.

    >>> Sealed().text
    'sealed'
    >>> Sealed().disclose(np.array([5, 9]))
    Traceback (most recent call last):
    tacit.errors.DisclosureError: a sealed search discloses no evaluation; the nodes run the \
search and open one plan
    """

    method: ClassVar[str] = SEALED
    usual_best: ClassVar[BestMode] = BestMode.NOTHING

    @property
    def text(self) -> str:
        """Always `sealed`."""
        return self.method

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[Any]:  # noqa: ARG002
        """Rejected, since nothing is disclosed."""
        self._refuse()

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:  # noqa: ARG002
        """There are none."""
        self._refuse()

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        """There are none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DisclosureError(
            "a sealed search discloses no evaluation; the nodes run the search and open one plan"
        )
