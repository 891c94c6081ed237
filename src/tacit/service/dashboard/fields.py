"""Make fields that say what is wrong with an entry and never change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from tacit.client import RunObjective
from tacit.problems import Objective, unscaled_text
from tacit.service.dashboard.words import number

MOST_BOUND, MOST_DECIMALS = 2**48, 9
Field = ValidationElement[Any]
Trouble = Callable[[float | None], str]
Changed = Callable[[], object]


def trouble_with(
    least: float, most: float, /, *, whole: bool, optional: bool = False
) -> Callable[[float | None], str]:
    """Return a check that says what is wrong with a number, or nothing.

    >>> wrong = trouble_with(0.5, 604800, whole=False)
    >>> wrong(-3), wrong(None), wrong(2.5)
    ('Give 0.5 to 604,800', 'Give a number', '')
    """

    def trouble(value: float | None) -> str:
        if value is None:
            return "" if optional else "Give a number"
        if whole and value != int(value):
            return "Give a whole number"
        return "" if least <= value <= most else f"Give {number(least)} to {number(most)}"

    return trouble


def number_field(label: str, value: float, least: float, most: float, /) -> ui.number:
    return checked_field(label, value, trouble_with(least, most, whole=False), step=0.5)


def whole_number(label: str, value: int, least: int, most: int, /) -> ui.number:
    return checked_field(label, value, trouble_with(least, most, whole=True), step=1)


def optional_number(label: str, value: int | None, usual: str, most: int, /) -> ui.number:
    """Make a field for a whole number. Empty, it stands for the usual one."""
    wrong = trouble_with(0, most, whole=True, optional=True)
    field = checked_field(label, value, wrong, step=1)
    return field.props("stack-label clearable").props(f'placeholder="{usual}"')


def checked_field(
    label: str, value: float | None, wrong: Trouble, /, *, step: float | str
) -> ui.number:
    """Make a field for a number that says what is wrong with it."""
    # With a least and a most of its own, the field would change what was typed, unasked.
    field = ui.number(label, value=value, validation=lambda typed: wrong(typed) or None)
    return field.props(f'outlined dense step="{step}"')


def choice(
    label: str, options: Mapping[Any, str], value: object, changed: Changed | None = None, /
) -> ui.select:
    # Without a transition: a list takes the focus back when it has faded out, also from the field
    # in which somebody types by then.
    return ui.select(
        dict(options), value=value, label=label, on_change=changed and (lambda: changed())
    ).props('outlined dense transition-duration="0"')


def name_field(label: str, value: str, /) -> ui.input:
    """Make a field for a name, which must not stay empty."""
    return ui.input(
        label,
        value=value,
        validation=lambda text: None if (text or "").strip() else "Give a name",
    ).props('outlined dense maxlength="200"')


def first_wrong(fields: Iterable[Field], /) -> Field | None:
    """Return the first visible field that is wrong. All wrong ones show what is wrong."""
    wrong = [each for each in fields if each.visible and not each.validate(return_result=True)]
    return wrong[0] if wrong else None


def decimals_of(scale: int, /) -> int | None:
    """Return how many decimals a scale keeps, if it is a power of 10.

    >>> decimals_of(100), decimals_of(1), decimals_of(7)
    (2, 0, None)
    """
    text = str(scale)
    return len(text) - 1 if text.strip("0") == "1" and len(text) <= MOST_DECIMALS + 1 else None


def range_of(largest: float, scale: int, /) -> tuple[int, int] | str:
    """Return the bound and scale of weights up to a number, or what is wrong with it.

    >>> range_of(12.5, 10), range_of(-1, 1)
    ((125, 10), 'Give 0 or more')
    >>> range_of(12.55, 10)
    'It has more decimals than weights may have'
    """
    if largest < 0:
        return "Give 0 or more"
    # Decimal, since 0.1 has no exact binary form and a bound is a promise.
    bound = Decimal(repr(largest)) * scale
    if bound != bound.to_integral_value():
        return "It has more decimals than weights may have"
    if bound > MOST_BOUND:
        return f"Give {number(MOST_BOUND // scale)} at most"
    return int(bound), scale


class WeightFields:
    """Two fields: the largest weight, and how many decimals weights may have."""

    def __init__(
        self, objective: Objective, start: RunObjective, changed: Callable[[], None], /
    ) -> None:
        """They begin with the range of `start`, which the weights at hand have to fit."""
        self._scale = start.scale
        known = objective.weights
        self._least = 0 if known is None or not known.size else int(known.max())
        self._least_scale = objective.scale
        largest = float(unscaled_text(start.weight_bound, start.scale))
        self.largest = checked_field("Largest weight", largest, self._wrong, step="any")
        decimals = decimals_of(start.scale)
        self.decimals = whole_number("Decimals of weights", decimals or 0, 0, MOST_DECIMALS)
        # An old scale such as 60 has no decimals, and stays as it is.
        self.decimals.set_visibility(decimals is not None)
        self.largest.on_value_change(changed)
        self.decimals.on_value_change(self._rescaled)
        self._changed = changed

    @property
    def fields(self) -> list[Field]:
        return [self.largest, self.decimals]

    @property
    def weights(self) -> tuple[int, int] | None:
        weights = range_of(float(self.largest.value or 0), self._scale)
        return None if isinstance(weights, str) else weights

    def _rescaled(self) -> None:
        if self.decimals.error is None and self.decimals.value is not None:
            self._scale = 10 ** int(self.decimals.value)
            self.largest.validate()
        self._changed()

    def _wrong(self, largest: float | None) -> str:
        if largest is None:
            return "Give a number"
        weights = range_of(float(largest), self._scale)
        if isinstance(weights, str):
            return weights
        if weights[0] * self._least_scale < self._least * self._scale:
            known = unscaled_text(self._least, self._least_scale)
            return f"The weights at hand go up to {known}"
        return ""
