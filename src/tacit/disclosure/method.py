"""The contract of a disclosure: a pure function of the fitness of one evaluated set.

Each method of the paper (section 3.3) is one file beside this one.
Fitness is an integer and larger is better. Ties go to the lower index everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.best import BestMode
from tacit.disclosure.estimation import Estimator, estimate, linear
from tacit.errors import DisclosureError


class Disclosure(ABC):
    """One obfuscation method with its parameter.

    >>> from tacit.disclosure import parse_disclosure
    >>> top = parse_disclosure("top:2")
    >>> top.disclose(np.array([5, 9, 7]))
    array([False,  True,  True])
    >>> top.levels(top.disclose(np.array([5, 9, 7])))
    array([1, 0, 0])
    """

    method: ClassVar[str]
    usual_best: ClassVar[BestMode] = BestMode.VALUE
    """What is disclosed of the best where nobody says."""

    @property
    def tells_flags(self) -> bool:
        """Whether it reveals true or false of each individual, and not a number."""
        return False

    @property
    @abstractmethod
    def text(self) -> str:
        """The method's text form in files and commands, such as `top:15`."""

    @abstractmethod
    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[Any]:
        """What is revealed of `fitness`, one value per individual, in the order given."""

    @abstractmethod
    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """The paper's m(r): 0 for the best group, growing as individuals get worse."""

    @abstractmethod
    def distinct_values(self, individuals: int, /) -> int:
        """The paper's u: how many different values the method can reveal."""

    def estimates(
        self,
        disclosed: NDArray[Any],
        /,
        *,
        best: int | None,
        estimator: Estimator = linear,
    ) -> NDArray[np.float64]:
        """Estimate each fitness from what was disclosed and the best value, if that is known.

        >>> from tacit.disclosure import parse_disclosure
        >>> parse_disclosure("top:2").estimates(np.array([False, True, True]), best=9)
        array([-9.,  9.,  9.])
        """
        return estimate(
            self.levels(disclosed),
            best=best,
            distinct_values=self.distinct_values(len(disclosed)),
            estimator=estimator,
        )

    def check_population(self, individuals: int, /) -> None:
        """Reject a population that this disclosure cannot describe.

        >>> from tacit.disclosure import parse_disclosure
        >>> parse_disclosure("top:15").check_population(10)
        Traceback (most recent call last):
        tacit.errors.DisclosureError: top:15 needs at least 15 individuals and the population \
has 10; lower the one or raise the other
        """
        if individuals < self.least_individuals:
            raise DisclosureError(
                f"{self.text} needs at least {self.least_individuals} individuals and the "
                f"population has {individuals}; lower the one or raise the other"
            )

    @property
    def least_individuals(self) -> int:
        """The smallest population the method makes sense for."""
        return 1

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Grouped(Disclosure):
    """Reveals in which of some groups each individual is, 0 for the best."""

    groups: int

    @property
    def text(self) -> str:
        """Such as `quantiles:5`."""
        return f"{self.method}:{self.groups}"

    @property
    def least_individuals(self) -> int:
        """One individual per group."""
        return self.groups

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """The groups themselves."""
        return np.asarray(disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        """The number of groups."""
        return self.groups


def ranks(fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
    """Give each individual its rank: 0 is best, ties go to the lower index.

    >>> ranks(np.array([10, 30, 30, 20]))
    array([3, 0, 1, 2])
    """
    best_first = np.argsort(-fitness, kind="stable")
    rank = np.empty(len(fitness), dtype=np.int64)
    rank[best_first] = np.arange(len(fitness))
    return rank
