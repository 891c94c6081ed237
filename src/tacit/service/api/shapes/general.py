"""What many endpoints of the API take or answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, StringConstraints

from tacit.service.api.terms import Taken

Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
Reason = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ErrorAnswer(BaseModel):
    """Why something was not done, and what to do about it."""

    error: str
    message: str


class Health(BaseModel):
    """Whether the platform works."""

    status: Literal["ok"]
    version: str


class Why(Taken):
    """A reason, if one likes to give it."""

    reason: Reason | None = None
