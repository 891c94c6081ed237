"""How an account is told of what needs it, as the API takes and shows it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, StringConstraints

from tacit.service.api.terms import Taken

MailAddress = Annotated[
    str,
    StringConstraints(
        max_length=254,
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$",
    ),
]
WebhookUrl = Annotated[str, StringConstraints(max_length=2000, pattern=r"^https?://[!-~]+$")]


class MailChange(Taken):
    """A mail address, or none."""

    mail: MailAddress | None


class NewWebhook(Taken):
    """An address to be called."""

    url: WebhookUrl


class WebhookAnswer(BaseModel):
    """A webhook; its secret is shown once, when it is added."""

    id: str
    url: str
    created: float
    error: str | None
    """Why the last delivery failed; None if it did not."""


class WebhookAdded(WebhookAnswer):
    """A webhook with the secret that its calls are signed with."""

    secret: str


class NotificationsAnswer(BaseModel):
    """How an account is told."""

    mail: str | None
    sends_mail: bool
    """Whether this platform sends mail at all."""
    webhooks: list[WebhookAnswer]
