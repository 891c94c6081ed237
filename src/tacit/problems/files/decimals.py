"""Exact decimal numbers in, scaled whole numbers out.

Users give decimals; the system computes with whole numbers. A public scale, a power of ten,
leads from one to the other, and nothing is ever rounded on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from decimal import Context, Decimal, Inexact
from enum import Enum, auto
from pathlib import Path

from tacit.errors import FileError

LARGEST_SCALE = 10**6
"""No scale beyond this is picked or proposed: money, times and distances need fewer decimals."""

# Nine digits of exponent at most: beyond its own range `Decimal` raises another error.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_MOST_DIGITS = 30
_NEVER_ROUND = Context(prec=60, traps=[Inexact])


class Fault(Enum):
    """What is wrong with a cell, for those who know a better remedy than the reader of the file."""

    EMPTY = auto()
    TOO_FINE = auto()
    TOO_LARGE = auto()
    OTHER = auto()


class CellError(ValueError):
    """A number that cannot be a weight: what is wrong with it and the remedy, place unknown."""

    def __init__(self, what: str, remedy: str, fault: Fault = Fault.OTHER) -> None:
        self.what, self.remedy, self.fault = what, remedy, fault
        super().__init__(f"{what}; {remedy}")


class CellFileError(FileError):
    """A cell of a file cannot be a weight."""

    def __init__(self, path: Path, place: str, error: CellError, /, *, more: str = "") -> None:
        self.fault = error.fault
        super().__init__(path, place, error.what, error.remedy + more)


def is_number(text: str, /) -> bool:
    """Return whether a cell is meant as a number, if only as a broken one such as NaN.

    >>> is_number("1.5e3"), is_number("NaN"), is_number("flight 3"), is_number("")
    (True, True, False, False)
    """
    return bool(_NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text))


def parse_decimal(text: str, /) -> Decimal:
    """Read a number exactly as it is written.

    >>> parse_decimal("12.50")
    Decimal('12.50')
    >>> parse_decimal("1,5")
    Traceback (most recent call last):
    tacit.problems.files.decimals.CellError: '1,5' is not a number; write decimals with a point, \
as in 1.5
    """
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    if not text:
        remedy = "fill in a number, and forbid pairs with a mask"
        raise CellError("the cell is empty", remedy, Fault.EMPTY)
    if _NOT_FINITE.fullmatch(text):
        raise CellError(f"{text} is not a finite number", "fill in a number")
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        point = text.replace(",", ".")
        raise CellError(f"{text!r} is not a number", f"write decimals with a point, as in {point}")
    shown = text if len(text) <= 40 else text[:37] + "..."
    raise CellError(f"{shown!r} is not a number", "fill in a number")


def scale_needed(numbers: Iterable[Decimal], /) -> int:
    """Find the smallest power of ten, up to 10^6, that makes all numbers whole if any does.

    >>> scale_needed([Decimal("1.50"), Decimal("0.125"), Decimal(7)])
    1000
    """
    return _ten_to(min(max((_decimals(number) for number in numbers), default=0), 6))


def scaled(number: Decimal, scale: int, /, *, limit: int) -> int:
    """Multiply by the scale, exactly, into a whole number in 0..limit.

    >>> scaled(Decimal("2.50"), 10, limit=100)
    25
    >>> scaled(Decimal("2.55"), 10, limit=100)
    Traceback (most recent call last):
    tacit.problems.files.decimals.CellError: 2.55 has more decimals than scale 10 keeps; use scale \
100 or round it
    """
    if number.is_finite() and 0 <= number <= limit:
        # A product that would be rounded is refused below, with what was wrong.
        with suppress(Inexact):
            product = _NEVER_ROUND.multiply(number, Decimal(scale))
            whole = int(product)
            if whole == product and whole <= limit:
                return whole
    raise _refusal(number, scale, limit)


def _refusal(number: Decimal, scale: int, limit: int) -> CellError:
    if not number.is_finite():
        return CellError(f"{number} is not a finite number", "fill in a number")
    if number < 0:
        return CellError(f"{number} is negative", "shift all weights so that the least is 0")
    wanted = _ten_to(_decimals(number))
    if number <= limit and wanted > scale:
        remedy = f"use scale {wanted} or round it" if wanted <= LARGEST_SCALE else "round it"
        what = f"{number} has more decimals than scale {scale} keeps"
        return CellError(what, remedy, Fault.TOO_FINE)
    times = f" times scale {scale}" if scale > 1 else ""
    remedy = "use coarser weights or raise weight_bound if one is given"
    if scale > 1:
        remedy = f"use a smaller scale, {remedy}"
    what = f"{number}{times} is above the largest weight, {limit}"
    return CellError(what, remedy, Fault.TOO_LARGE)


def unscaled_text(value: int, scale: int, /) -> str:
    """Write a scaled whole number as the decimal the user gave.

    >>> unscaled_text(1250, 100), unscaled_text(1200, 100), unscaled_text(5, 100)
    ('12.5', '12', '0.05')
    """
    whole, rest = divmod(value, scale)
    if rest == 0:
        return str(whole)
    return f"{whole}.{str(scale + rest)[1:].rstrip('0')}"


def is_power_of_ten(scale: int, /) -> bool:
    """Return whether a scale moves the decimal point and nothing else.

    >>> [is_power_of_ten(scale) for scale in (1, 100, 60)]
    [True, True, False]
    """
    return scale >= 1 and set(str(scale)[1:]) <= {"0"} and str(scale)[0] == "1"


def _ten_to(power: int) -> int:
    return int(10**power)


def _decimals(number: Decimal) -> int:
    """Count the decimals: none in 3 and 3.00, two in 0.25; capped, since 1e-999 is text."""
    if not number.is_finite() or not number:
        return 0
    _, digits, exponent = number.as_tuple()
    trailing_zeros = 0
    for digit in reversed(digits):
        if digit:
            break
        trailing_zeros += 1
    return min(max(-int(exponent) - trailing_zeros, 0), _MOST_DIGITS)
