"""Which disclosure is computed, and how the best fitness is disclosed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tacit.errors import DisclosureError

Kind = Literal["none", "order", "quantiles", "buckets", "top", "above"]
Best = Literal["value", "improvement", "nothing"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A disclosure with its parameter (0 where it has none).

    >>> Spec.parse("quantiles:5")
    Spec(kind='quantiles', parameter=5)
    >>> str(Spec.parse("above:75"))
    'above:75'
    """

    kind: Kind
    parameter: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind in ("none", "order") else f"{self.kind}:{self.parameter}"

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Parse the form that agreements use.

        >>> Spec.parse("median")
        Traceback (most recent call last):
        tacit.errors.DisclosureError: 'median' is no disclosure; give none, order, quantiles:k, \
buckets:k, top:k or above:p
        """
        kind, colon, rest = text.partition(":")
        plain = kind in ("none", "order")
        if kind not in get_args(Kind) or plain == bool(colon) or (colon and not rest.isdecimal()):
            raise DisclosureError(
                f"{text!r} is no disclosure; give none, order, quantiles:k, buckets:k, top:k "
                "or above:p"
            )
        return cls(kind, int(rest) if colon else 0)  # type: ignore[arg-type]

    def check(self, n: int) -> None:
        """Reject what does not fit a population of n.

        >>> Spec.parse("top:4").check(3)
        Traceback (most recent call last):
        tacit.errors.DisclosureError: top:4 does not fit 3 individuals; its number must be 1..3
        """
        if n < 1:
            raise DisclosureError("a population of 0 has nothing to disclose; give at least 1")
        low, high = (0, 100) if self.kind == "above" else (1, n)
        if self.kind not in ("none", "order") and not low <= self.parameter <= high:
            raise DisclosureError(
                f"{self} does not fit {n} individuals; its number must be {low}..{high}"
            )

    @property
    def has_thresholds(self) -> bool:
        """Whether it depends on the values beyond their order."""
        return self.kind in ("above", "buckets")
