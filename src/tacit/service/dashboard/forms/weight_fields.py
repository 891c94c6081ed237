"""How large the weights of an objective may be, in the users' own unit."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from tacit.problems import Objective, unscaled_text
from tacit.service.dashboard.forms.number_fields import Field, checked_field, whole_number
from tacit.service.dashboard.rules import WeightRange
from tacit.service.dashboard.words import number

MOST_BOUND, MOST_DECIMALS = 2**48, 9


def decimals_of(scale: int, /) -> int | None:
    """How many decimals a scale keeps, if it is one of 1, 10, 100 and so on.

    >>> decimals_of(100), decimals_of(1), decimals_of(7)
    (2, 0, None)
    """
    text = str(scale)
    return len(text) - 1 if text.strip("0") == "1" and len(text) <= MOST_DECIMALS + 1 else None


def range_of(largest: float, scale: int, /) -> WeightRange | str:
    """The range up to a number in the users' unit, or what is wrong with it.

    >>> range_of(12.5, 10), range_of(-1, 1)
    (WeightRange(bound=125, scale=10), 'Give 0 or more')
    >>> range_of(12.55, 10)
    'It has more decimals than weights may have'
    """
    if largest < 0:
        return "Give 0 or more"
    bound = Decimal(repr(largest)) * scale
    if bound != bound.to_integral_value():
        return "It has more decimals than weights may have"
    if bound > MOST_BOUND:
        return f"Give {number(MOST_BOUND // scale)} at most"
    return WeightRange(int(bound), scale)


class WeightFields:
    """Two fields: the largest weight, and how many decimals weights may have."""

    def __init__(self, objective: Objective, changed: Callable[[], None], /) -> None:
        self._scale = objective.scale
        known = objective.weights
        self._least = 0 if known is None or not known.size else int(known.max())
        self._least_scale = objective.scale
        largest = float(unscaled_text(objective.weight_bound, objective.scale))
        self.largest = checked_field("Largest weight", largest, self._wrong, step="any")
        decimals = decimals_of(objective.scale)
        self.decimals = whole_number("Decimals of weights", decimals or 0, 0, MOST_DECIMALS)
        # An old scale such as 60 has no decimals, and stays as it is.
        self.decimals.set_visibility(decimals is not None)
        self.largest.on_value_change(changed)
        self.decimals.on_value_change(self._rescaled)
        self._changed = changed

    @property
    def fields(self) -> list[Field]:
        """Both fields."""
        return [self.largest, self.decimals]

    @property
    def weights(self) -> WeightRange | None:
        """The range, or nothing while it is wrong."""
        found = range_of(float(self.largest.value or 0), self._scale)
        return None if isinstance(found, str) else found

    def _rescaled(self) -> None:
        if self.decimals.error is None and self.decimals.value is not None:
            self._scale = 10 ** int(self.decimals.value)
            self.largest.validate()
        self._changed()

    def _wrong(self, largest: float | None) -> str:
        if largest is None:
            return "Give a number"
        found = range_of(float(largest), self._scale)
        if isinstance(found, str):
            return found
        if found.bound * self._least_scale < self._least * self._scale:
            known = unscaled_text(self._least, self._least_scale)
            return f"The weights at hand go up to {known}"
        return ""
