"""Fields for numbers that say what is wrong with what was typed, and never change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nicegui import ui

from tacit.service.dashboard.words import number


def trouble_with(least: float, most: float, /, *, whole: bool) -> Callable[[float | None], str]:
    """What is wrong with a number, or nothing.

    >>> wrong = trouble_with(0.5, 604800, whole=False)
    >>> wrong(-3), wrong(None), wrong(2.5)
    ('Give 0.5 to 604,800', 'Give a number', '')
    """

    def trouble(value: float | None) -> str:
        if value is None:
            return "Give a number"
        if whole and value != int(value):
            return "Give a whole number"
        return "" if least <= value <= most else f"Give {number(least)} to {number(most)}"

    return trouble


def number_field(label: str, value: float, least: float, most: float, /) -> ui.number:
    """A field for a number between two others."""
    wrong = trouble_with(least, most, whole=False)
    return _field(label, value, wrong, step=0.5)


def whole_number(label: str, value: int, least: int, most: int, /) -> ui.number:
    """A field for a whole number between two others."""
    wrong = trouble_with(least, most, whole=True)
    return _field(label, value, wrong, step=1)


def _field(
    label: str, value: float, wrong: Callable[[float | None], str], *, step: float
) -> ui.number:
    # With a least and a most of its own, the field would change what was typed, unasked.
    field = ui.number(label, value=value, step=step, validation=lambda typed: wrong(typed) or None)
    return field.props("outlined dense")


def first_trouble(fields: Iterable[ui.number], /) -> str | None:
    """What is wrong with the first field in sight that is wrong."""
    for field in fields:
        if field.visible and not field.validate(return_result=True):
            return f"{field.props['label']}: {field.error}"
    return None
