"""The methods of disclosure: pure functions of the fitness of one evaluated set.

Each method of the paper (section 3.3) is a subclass of `Disclosure`; `parse` finds it by its text.
Fitness is an integer and larger is better. Ties go to the lower index everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure.estimation import Estimator, estimate, linear
from tacit.errors import DisclosureError


class BestMode(StrEnum):
    """How much of the best fitness an evaluation reveals.

    >>> BestMode("improvement").revealed(7, best_so_far=5)
    True
    >>> BestMode("value").revealed(7, best_so_far=5)
    7
    """

    VALUE = "value"
    IMPROVEMENT = "improvement"
    NOTHING = "nothing"

    def revealed(self, best: int, *, best_so_far: int | None) -> int | bool | None:
        """Return what is disclosed, given the best of this evaluation and of all before."""
        if self is BestMode.VALUE:
            return best
        if self is BestMode.IMPROVEMENT:
            # Strictly better, as nodes compare it: an equal best is no improvement.
            return best_so_far is None or best > best_so_far
        return None


def parse_best_mode(text: str, /) -> BestMode:
    """Read a best-mode.

    >>> parse_best_mode("nothing")
    <BestMode.NOTHING: 'nothing'>
    """
    try:
        return BestMode(text)
    except ValueError:
        raise DisclosureError(
            f"{text!r} is not a way to disclose the best fitness; use value, improvement or nothing"
        ) from None


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
    """The best mode where none is given."""
    by_rank: ClassVar[bool] = False
    """Whether ranks decide what it reveals, however far values are apart."""

    @property
    def contained_in(self) -> str:
        """A method that reveals at least as much, whatever the parameter of this one."""
        return "order" if self.by_rank else "none"

    @property
    def discloses_flags(self) -> bool:
        """Whether it reveals true or false of each individual, and not a number."""
        return False

    @property
    def text(self) -> str:
        """The method and its parameter as files and commands have them, such as `top:15`."""
        return ":".join([self.method, *(str(parameter) for parameter in vars(self).values())])

    @property
    def least_individuals(self) -> int:
        """The smallest population the method makes sense for."""
        return 1

    @abstractmethod
    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[Any]:
        """Return what is revealed of `fitness`, one value per individual, in the order given."""

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """The paper's m(r): 0 for the best group, growing as individuals get worse."""
        return np.asarray(disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:
        """The paper's u: how many different values the method can reveal."""
        return individuals

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

    def __str__(self) -> str:
        return self.text


def ranks(fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
    """Give each individual its rank: 0 is best, ties go to the lower index.

    >>> ranks(np.array([10, 30, 30, 20]))
    array([3, 0, 1, 2])
    """
    # Stable, so that equals keep their order: nodes break ties by the index as well.
    best_first = np.argsort(-fitness, kind="stable")
    rank = np.empty(len(fitness), dtype=np.int64)
    rank[best_first] = np.arange(len(fitness))
    return rank


@dataclass(frozen=True)
class Exact(Disclosure):
    """`none`, the paper's "no obfuscation": reveals the exact fitness.

    >>> Exact().disclose(np.array([5, 9, 7]))
    array([5, 9, 7])
    """

    method: ClassVar[str] = "none"

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        return fitness.copy()

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        """Return how far each individual lies below the best.

        >>> Exact().levels(np.array([5, 9, 7]))
        array([4, 0, 2])
        """
        return np.asarray(disclosed.max() - disclosed, dtype=np.int64)

    def estimates(
        self,
        disclosed: NDArray[Any],
        /,
        *,
        best: int | None,  # noqa: ARG002
        estimator: Estimator = linear,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """The fitness itself: there is nothing to estimate.

        >>> Exact().estimates(np.array([5, 9]), best=None)
        array([5., 9.])
        """
        return disclosed.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Unsaid(Exact):
    """Marks an objective for which no disclosure was given.

    As `none` where the weights are here anyway; `solve` takes what is usual in its place.

    >>> Unsaid() == Exact(), isinstance(Exact(), Unsaid)
    (True, False)
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exact)

    def __hash__(self) -> int:
        # Equal objects need one hash.
        return hash(Exact())


@dataclass(frozen=True)
class Order(Disclosure):
    """`order`, the paper's "Order": reveals ranks, a permutation of 0..n-1, 0 for the best.

    >>> Order().disclose(np.array([5, 9, 7]))
    array([2, 0, 1])
    """

    method: ClassVar[str] = "order"
    by_rank: ClassVar[bool] = True

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        return ranks(fitness)


@dataclass(frozen=True)
class Grouped(Disclosure):
    """Reveals in which of some groups each individual is, 0 for the best."""

    groups: int

    @property
    def least_individuals(self) -> int:
        return self.groups

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        return self.groups


@dataclass(frozen=True)
class Quantiles(Grouped):
    """`quantiles:k`, the paper's "Order Quantiles": reveals which of k equal groups by rank.

    Where k does not divide n, sizes differ by one and the larger groups are spread evenly: the j
    worst groups together hold n j / k individuals, rounded up. Eleven in three quantiles make 3,
    4 and 4, as in the paper's Table 1; seven in five make 1, 1, 2, 1 and 2.

    >>> Quantiles(3).disclose(np.arange(11, 0, -1))
    array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    >>> np.bincount(Quantiles(5).disclose(np.arange(7)))
    array([1, 1, 2, 1, 2])
    """

    method: ClassVar[str] = "quantiles"
    by_rank: ClassVar[bool] = True

    # SQL's NTILE and numpy.array_split put all larger groups at one end (1, 1, 1, 2, 2). The paper
    # says "approximately n/k". Here every border lies less than one individual from n j / k, which
    # is what an estimator with equal distances assumes; theirs may lie k / 4 away. Agreements and
    # logs name these groups, so another rule has to be another disclosure.
    def group_of_rank(self, rank: NDArray[np.int64], individuals: int, /) -> NDArray[np.int64]:
        """The quantile that each rank falls into.

        >>> Quantiles(2).group_of_rank(np.arange(5), 5)
        array([0, 0, 1, 1, 1])
        """
        return self.groups - 1 - ((individuals - 1 - rank) * self.groups) // individuals

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        return self.group_of_rank(ranks(fitness), len(fitness))


@dataclass(frozen=True)
class Buckets(Grouped):
    """`buckets:k`, the paper's "Fitness Buckets": reveals which k-th of the fitness range.

    With span = max - min, bucket 0 holds k*(max-f) <= span and bucket j holds
    j*span < k*(max-f) <= (j+1)*span. All are in bucket 0 where all are equal.

    >>> Buckets(3).disclose(np.array([100, 67, 66, 34, 33, 0]))
    array([0, 0, 1, 1, 2, 2])
    """

    method: ClassVar[str] = "buckets"

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
        best = fitness.max()
        span = best - fitness.min()
        if span == 0:
            return np.zeros(len(fitness), dtype=np.int64)
        # ceil(k*(max-f)/span) - 1 in whole numbers, so that nodes on shares find the same bucket;
        # the best itself (0) joins bucket 0.
        upper_edge = -((-self.groups * (best - fitness)) // span)
        return np.asarray(np.maximum(upper_edge - 1, 0), dtype=np.int64)


class Flagged(Disclosure):
    """Reveals true for good individuals and false for the others."""

    @property
    def discloses_flags(self) -> bool:
        return True

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        return np.asarray(~disclosed, dtype=np.int64)

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        return 2


@dataclass(frozen=True)
class Top(Flagged):
    """`top:k`, the paper's "Top Individuals": reveals true for exactly the k best.

    >>> Top(2).disclose(np.array([7, 9, 7]))
    array([ True,  True, False])
    """

    count: int
    method: ClassVar[str] = "top"
    by_rank: ClassVar[bool] = True

    @property
    def least_individuals(self) -> int:
        return self.count

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.bool_]:
        return np.asarray(ranks(fitness) < self.count)


ALWAYS_TRUE = 3
"""The best three are always true, so that a single best individual is never identified."""


@dataclass(frozen=True)
class Above(Flagged):
    """`above:p`, the paper's "Above Threshold": reveals who reaches p % of the fitness range.

    True where 100*(f-min) >= p*span, and for the three best in any case.

    >>> Above(70).disclose(np.array([100, 70, 69, 0]))
    array([ True,  True,  True, False])
    """

    percent: int
    method: ClassVar[str] = "above"

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[np.bool_]:
        worst = fitness.min()
        span = fitness.max() - worst
        # Multiplied out in whole numbers, as nodes compare it on shares.
        reaches = 100 * (fitness - worst) >= self.percent * span
        return np.asarray(reaches | (ranks(fitness) < ALWAYS_TRUE))


SEALED = "sealed"


@dataclass(frozen=True)
class Sealed(Disclosure):
    """`sealed`: the nodes search themselves and open the final plan, and nothing of an evaluation.

    >>> Sealed().text
    'sealed'
    >>> Sealed().disclose(np.array([5, 9]))
    Traceback (most recent call last):
    tacit.errors.DisclosureError: a sealed search discloses no evaluation; the nodes run the \
search and open one plan
    """

    method: ClassVar[str] = SEALED
    usual_best: ClassVar[BestMode] = BestMode.NOTHING

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[Any]:  # noqa: ARG002
        self._refuse()

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:  # noqa: ARG002
        self._refuse()

    def distinct_values(self, individuals: int, /) -> int:  # noqa: ARG002
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DisclosureError(
            "a sealed search discloses no evaluation; the nodes run the search and open one plan"
        )


PARETO = "pareto"


@dataclass(frozen=True)
class Pareto(Disclosure):
    """`pareto:...`: an order of the Pareto score of all objectives together, nothing of each.

    `pareto:order`, `pareto:quantiles:k` and `pareto:top:k` reveal of the score (`pareto_score`)
    what these reveal of a fitness.

    >>> Pareto(Top(2)).disclose(np.array([3, 1, 2, 0]))
    array([ True, False,  True, False])
    """

    shown: Disclosure
    method: ClassVar[str] = PARETO
    usual_best: ClassVar[BestMode] = BestMode.NOTHING

    def __post_init__(self) -> None:
        if not self.shown.by_rank:
            raise DisclosureError(
                f"a Pareto score has an order and no values, which {self.shown.text} would need; "
                "use pareto:order, pareto:quantiles:20 or pareto:top:60"
            )

    @property
    def discloses_flags(self) -> bool:
        return self.shown.discloses_flags

    @property
    def least_individuals(self) -> int:
        return self.shown.least_individuals

    def disclose(self, fitness: NDArray[np.int64], /) -> NDArray[Any]:
        return self.shown.disclose(fitness)

    def levels(self, disclosed: NDArray[Any], /) -> NDArray[np.int64]:
        return self.shown.levels(disclosed)

    def distinct_values(self, individuals: int, /) -> int:
        return self.shown.distinct_values(individuals)
