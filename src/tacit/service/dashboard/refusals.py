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
    """
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"]]
    field = next((part for part in reversed(parts) if part in FIELDS), None)
    where = FIELDS[field] if field is not None else " ".join(parts).replace("_", " ")
    said = first["msg"].removeprefix("Value error, ")
    return f"{where} {TROUBLES.get(first['type'], f'is refused: {said}')}; correct it"
