"""What is wrong with a form, in the form's own words and not in those of a validator."""

from __future__ import annotations

from pydantic import ValidationError

FIELDS = {
    "name": "the name of the run",
    "deadline_seconds": "the deadline",
    "evaluations": "the number of evaluations",
    "expiry_hours": "the hours until signatures expire",
    "participants": "a participant's name",
    "disclosure": "what an evaluation discloses",
    "row_names": "the name of a row",
    "column_names": "the name of a column",
    "every_minutes": "the minutes between runs",
    "at": "a time of day",
    "runs_per_day": "the number of runs per day",
    "run_hours": "the hours of a run",
    "days": "the days of the series",
}
TROUBLES = {
    "string_pattern_mismatch": "has characters that cannot stand there",
    "string_too_short": "is empty",
    "string_too_long": "is too long",
    "too_short": "is empty",
    "too_long": "has too many parts",
    "greater_than": "is too small",
    "greater_than_equal": "is too small",
    "less_than": "is too large",
    "less_than_equal": "is too large",
}


def plain_refusal(error: ValidationError, /) -> str:
    """The first thing that is wrong.

    >>> from tacit.service.api.terms import LimitTerms
    >>> try:
    ...     LimitTerms(expiry_hours=-1)
    ... except ValidationError as error:
    ...     plain_refusal(error)
    'the hours until signatures expire is too small; correct it'
    >>> from tacit.service.api.series_terms import ScheduleTerms
    >>> try:
    ...     ScheduleTerms()
    ... except ValidationError as error:
    ...     plain_refusal(error)
    'give every_minutes, or times of day, and not both'
    """
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"]]
    field = next((part for part in reversed(parts) if part in FIELDS), None)
    where = FIELDS[field] if field is not None else " ".join(parts).replace("_", " ")
    if first["type"] == "value_error":
        # These words are our own.
        return f"{where}: {first['msg'].removeprefix('Value error, ')}".removeprefix(": ")
    return f"{where} {TROUBLES.get(first['type'], 'does not fit')}; correct it"
