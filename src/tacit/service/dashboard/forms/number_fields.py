"""Fields for numbers that say what is wrong with what was typed, and never change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from tacit.service.dashboard.words import number

Field = ValidationElement[Any]
Trouble = Callable[[float | None], str]


def trouble_with(
    least: float, most: float, /, *, whole: bool, optional: bool = False
) -> Callable[[float | None], str]:
    """What is wrong with a number, or nothing.

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
    """A field for a number between two others."""
    return checked_field(label, value, trouble_with(least, most, whole=False), step=0.5)


def whole_number(label: str, value: int, least: int, most: int, /) -> ui.number:
    """A field for a whole number between two others."""
    return checked_field(label, value, trouble_with(least, most, whole=True), step=1)


def optional_number(label: str, value: int | None, usual: str, most: int, /) -> ui.number:
    """A field for a whole number that may stay empty, which means the usual one."""
    wrong = trouble_with(0, most, whole=True, optional=True)
    field = checked_field(label, value, wrong, step=1)
    return field.props("stack-label clearable").props(f'placeholder="{usual}"')


def checked_field(
    label: str, value: float | None, wrong: Trouble, /, *, step: float | str
) -> ui.number:
    """A field for a number that says what is wrong with it."""
    # With a least and a most of its own, the field would change what was typed, unasked.
    field = ui.number(label, value=value, validation=lambda typed: wrong(typed) or None)
    return field.props(f'outlined dense step="{step}"')


def first_wrong(fields: Iterable[Field], /) -> Field | None:
    """The first field in sight that is wrong; all that are wrong say so."""
    wrong = [each for each in fields if each.visible and not each.validate(return_result=True)]
    return wrong[0] if wrong else None


def said_wrong(field: Field, /) -> str:
    """What a field says is wrong with it, with its name."""
    return f"{field.props['label']}: {field.error}"


def first_trouble(fields: Iterable[Field], /) -> str | None:
    """What is wrong with the first field in sight that is wrong."""
    field = first_wrong(fields)
    return None if field is None else said_wrong(field)
