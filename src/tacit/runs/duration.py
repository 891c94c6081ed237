"""Times as people write them: 30s, 2m, 1m30s, 500ms."""

from __future__ import annotations

import re

from tacit.errors import ParameterError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def parse_duration(text: str, /) -> float:
    """Read a time in seconds; a bare number counts seconds.

    >>> parse_duration("1m30s"), parse_duration("500ms"), parse_duration("30")
    (90.0, 0.5, 30.0)
    >>> parse_duration("soon")
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'soon' is not a time; write it like 30s, 2m, 1m30s or 500ms
    """
    compact = text.strip().lower().replace(" ", "")
    if re.fullmatch(r"\d+(\.\d+)?", compact):
        compact += "s"
    if not compact or _PART.sub("", compact):
        raise ParameterError(f"{text!r} is not a time; write it like 30s, 2m, 1m30s or 500ms")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(compact))
    if seconds <= 0:
        raise ParameterError(f"{text!r} leaves no time at all; give a time such as 30s")
    return seconds


def show_duration(seconds: float, /) -> str:
    """Write a time for people.

    >>> show_duration(95), show_duration(4.26), show_duration(0.0312)
    ('1m35s', '4.3s', '31ms')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"
