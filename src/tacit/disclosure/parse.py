"""Reading a disclosure from its text, such as `top:15`."""

from __future__ import annotations

from collections.abc import Callable

from tacit.disclosure.methods import (
    PARETO,
    SEALED,
    Above,
    Buckets,
    Disclosure,
    Exact,
    Order,
    Pareto,
    Quantiles,
    Sealed,
    Top,
)
from tacit.errors import DisclosureError

BUILT_IN = ("none", "order", "quantiles", "buckets", "top", "above", PARETO, SEALED)
EXAMPLES = "sealed, top:15, above:90, buckets:5, quantiles:5, order or none"

PAPER_CONFIGURATIONS = (
    "none",
    "buckets:20",
    "buckets:10",
    "buckets:5",
    "above:95",
    "above:90",
    "above:80",
    "order",
    "quantiles:20",
    "quantiles:10",
    "quantiles:5",
    "top:15",
    "top:30",
    "top:60",
)
"""The fourteen configurations of the paper's Table 2, in the order of its result tables."""


_registered: dict[str, Callable[[int], Disclosure]] = {}
# The only state here: methods that code of this process has registered.


def register_disclosure(method: str, make: Callable[[int], Disclosure], /) -> None:
    """Register a custom method for `parse_disclosure`, written `method:number`.

    Registering it again replaces it; the methods of the package cannot be replaced.

    >>> register_disclosure("top", Top)
    Traceback (most recent call last):
    tacit.errors.DisclosureError: 'top' is a method of the package; choose another name
    """
    # Agreements name a method by its word: with another meaning here, something else would be
    # disclosed than was signed.
    if method in BUILT_IN:
        raise DisclosureError(f"{method!r} is a method of the package; choose another name")
    _registered[method] = make


def split_disclosure(text: str, /) -> tuple[str, int]:
    """The method that a text names, known or not, and its number, or 0 if it has none.

    >>> split_disclosure("top:15"), split_disclosure("order")
    (('top', 15), ('order', 0))
    """
    method, _, number = text.partition(":")
    return method, int(number) if _is_whole(number) else 0


def parse_disclosure(text: str, /) -> Disclosure:
    """Read a disclosure.

    >>> parse_disclosure("quantiles:5")
    Quantiles(groups=5)
    >>> parse_disclosure("pareto:top:60")
    Pareto(shown=Top(count=60))
    >>> parse_disclosure("median")
    Traceback (most recent call last):
    tacit.errors.DisclosureError: 'median' is not a disclosure; use sealed, top:15, above:90, \
buckets:5, quantiles:5, order or none
    """
    method, colon, argument = text.strip().partition(":")
    if method == PARETO:
        if not argument:
            raise DisclosureError(
                "pareto needs what is shown of the score; use pareto:quantiles:20"
            )
        return Pareto(parse_disclosure(argument))
    plain: dict[str, type[Disclosure]] = {"none": Exact, "order": Order, SEALED: Sealed}
    if method in plain:
        if colon:
            raise DisclosureError(f"{method} takes no number; write {method!r} instead of {text!r}")
        return plain[method]()
    if method in _registered:
        return _registered[method](_whole_number(text, method, argument))
    if method not in BUILT_IN:
        raise DisclosureError(f"{text!r} is not a disclosure; use {EXAMPLES}")
    number = _whole_number(text, method, argument)
    match method:
        case "above":
            if number > 100:
                raise DisclosureError(f"{text} is not a percentage; use above:0 to above:100")
            return Above(number)
        case "top":
            return Top(_at_least(text, number, 1))
        case "quantiles":
            return Quantiles(_at_least(text, number, 1))
        case "buckets":
            return Buckets(_at_least(text, number, 1))
    # A name without a case must not be read as another disclosure than was signed.
    raise DisclosureError(f"{text!r} is not a disclosure; use {EXAMPLES}")


def _is_whole(argument: str) -> bool:
    # The text may come from others, and thousands of digits would take long to convert.
    return argument.isascii() and argument.isdigit() and len(argument) < 10


def _whole_number(text: str, method: str, argument: str) -> int:
    if not _is_whole(argument):
        raise DisclosureError(f"{text!r} needs a whole number after '{method}:'; use {EXAMPLES}")
    return int(argument)


def _at_least(text: str, number: int, least: int) -> int:
    if number < least:
        raise DisclosureError(f"{text} names no group at all; use {EXAMPLES}")
    return number
