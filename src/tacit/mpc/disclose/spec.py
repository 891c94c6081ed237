"""The disclosure of an evaluation, the bound on its fitness, and the bits that both need.

With b the bits of the public bound's span, an individual's key (fitness, then the tie-breaking
index) differs from another's by less than 2^(b + index bits); a threshold of `above` compares
hundredths of the span, one of `buckets:k` k-ths. One more bit holds the sign. A bound that does not
fit is rejected when the agreement is made, so that nothing can overflow later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tacit.errors import DisclosureError, ParameterError
from tacit.mpc.ring import RING_BITS

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
        tacit.errors.DisclosureError: 'median' is not a disclosure; give none, order, quantiles:k, \
buckets:k, top:k or above:p
        """
        kind, colon, rest = text.partition(":")
        plain = kind in ("none", "order")
        if kind not in get_args(Kind) or plain == bool(colon) or (colon and not rest.isdecimal()):
            raise DisclosureError(
                f"{text!r} is not a disclosure; give none, order, quantiles:k, buckets:k, top:k "
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


@dataclass(frozen=True, slots=True)
class FitnessBound:
    """Public limits: every fitness lies in low..high, both included.

    >>> FitnessBound(-1000, 0).bits
    10
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ParameterError(f"fitness bound {self.low}..{self.high} is empty; swap its ends")
        if self.low < -(1 << 63) or self.high >= 1 << 63:
            raise ParameterError(
                f"fitness bound {self.low}..{self.high} leaves the 64-bit ring; scale weights down"
            )

    @classmethod
    def of_sum(cls, terms: int, weight_bound: int, *, negate: bool = False) -> FitnessBound:
        """The range of a sum of weights in 0..weight_bound, or its negative for costs.

        >>> FitnessBound.of_sum(100, 1000, negate=True)
        FitnessBound(low=-100000, high=0)
        """
        total = terms * weight_bound
        return cls(-total, 0) if negate else cls(0, total)

    @property
    def span(self) -> int:
        """The largest possible difference of two fitness values."""
        return self.high - self.low

    @property
    def bits(self) -> int:
        return self.span.bit_length()


def index_bits(n: int) -> int:
    """The bits of the tie-breaking index of n individuals.

    >>> index_bits(1), index_bits(300)
    (0, 9)
    """
    return (n - 1).bit_length()


def key_bits(bound: FitnessBound, n: int) -> int:
    """The bits of a signed difference of two keys.

    >>> key_bits(FitnessBound(0, 2**18 - 1), 300)
    28
    """
    return bound.bits + index_bits(n) + 1


def threshold_bits(bound: FitnessBound, factor: int) -> int:
    """The bits of a signed difference of two values up to `factor` times the span.

    >>> threshold_bits(FitnessBound(0, 2**18 - 1), 100)
    26
    """
    return (factor * bound.span).bit_length() + 1


def bits_needed(bound: FitnessBound, n: int, spec: Spec) -> int:
    """The widest comparison that this disclosure makes for n individuals.

    >>> bits_needed(FitnessBound(0, 2**18 - 1), 300, Spec.parse("order"))
    28
    """
    if spec.kind == "none":
        # Two's complement: -2^63 needs no more bits than 2^63 - 1.
        ends = (bound.low, bound.high)
        return max((end if end >= 0 else -1 - end).bit_length() for end in ends) + 1
    factors = {"above": 100, "buckets": spec.parameter}
    widest = key_bits(bound, n)
    if spec.kind in factors:
        widest = max(widest, threshold_bits(bound, factors[spec.kind]))
    return widest


def check_bound_fits(bound: FitnessBound, n: int, spec: Spec) -> None:
    """Reject a bound for which the ring is too small; n is the largest population.

    >>> check_bound_fits(FitnessBound(0, 2**60), 300, Spec.parse("order"))
    Traceback (most recent call last):
    tacit.errors.ParameterError: order of 300 individuals with fitness in 0..1152921504606846976 \
needs 71 bits, the ring has 64; scale the weights down by 2^7
    """
    needed = bits_needed(bound, n, spec)
    # Too few bits would let differences wrap around, and open signs that depend on the data.
    if needed > RING_BITS:
        raise ParameterError(
            f"{spec} of {n} individuals with fitness in {bound.low}..{bound.high} needs {needed} "
            f"bits, the ring has {RING_BITS}; scale the weights down by 2^{needed - RING_BITS}"
        )
