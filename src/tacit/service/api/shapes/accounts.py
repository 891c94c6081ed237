"""Accounts, invitations and joining, as the API takes and shows them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from tacit.service.api.shapes.general import Signature
from tacit.service.api.terms import ParticipantName, Taken

Key = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Role = Literal["operator", "participant", "viewer"]


class Join(Taken):
    """A one-time code; participants give the key that they sign with, and show that it is theirs.

    Their signature is over the line `tacit joining/1` and the SHA-256 of the code, of the account
    and of the platform's address, 32 bytes each: so it counts nowhere else and for nobody else.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"code": "tci_of-an-operator-or-a-viewer"},
                {
                    "code": "tci_of-a-participant",
                    "signing_key": "5e" * 32,
                    "signature": "a1" * 64,
                    "account": "north",
                    "platform": "https://platform.example:8443",
                },
            ]
        }
    )

    code: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    signing_key: Key | None = None
    signature: Signature | None = None
    account: ParticipantName | None = None
    """As whom a participant joins."""
    platform: Annotated[str, StringConstraints(max_length=300)] | None = None
    """Where it joins: scheme, host and port."""
    label: Annotated[str, StringConstraints(max_length=100, pattern=r"^[ -~]*$")] = ""


class Joined(BaseModel):
    """The token is shown once."""

    token: str
    account: str
    role: Role
    expires: float


class Me(BaseModel):
    """Whose token this is."""

    account: str
    role: Role
    signing_key: str | None
    expires: float


class NewAccount(Taken):
    """An account to be invited."""

    name: ParticipantName
    role: Role


class Invited(BaseModel):
    """The code is shown once."""

    name: str
    role: Role
    invitation: str
    expires: float


class AccountAnswer(BaseModel):
    """An account as operators see it."""

    name: str
    role: Role
    joined: bool
    signing_key: str | None
    created: float


class InvitationAnswer(BaseModel):
    """An invitation as the file that its account joins with; the code is shown once."""

    format: str
    url: str
    account: str
    role: Role
    code: str
    expires: float
    certificate: str | None
    """The platform's, in PEM; None where computers trust its authority anyway."""
    run: str | None
