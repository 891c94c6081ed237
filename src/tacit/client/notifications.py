"""How this account is told of what needs it, through the API."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from tacit.client.connection import Connection


class WebhookView(msgspec.Struct, frozen=True):
    """A webhook of this account."""

    id: str
    url: str
    created: float = 0.0
    error: str | None = None
    """Why the last delivery failed; None if it did not."""
    secret: str | None = None
    """What its calls are signed with; shown once, when it is added."""


class NotificationsView(msgspec.Struct, frozen=True):
    """How an account is told."""

    mail: str | None = None
    sends_mail: bool = False
    webhooks: list[WebhookView] = []


class Notifications:
    """A mail address and webhooks: `client.notifications`."""

    def __init__(self, connection: Connection, /) -> None:
        self._connection = connection

    def show(self) -> NotificationsView:
        """How this account is told."""
        return self._connection.get("/me/notifications", NotificationsView)

    def set_mail(self, mail: str | None, /, *, account: str | None = None) -> None:
        """Set or forget a mail address: one's own, or for operators that of an `account`."""
        body = {"mail": mail}
        if account is None:
            self._connection.put("/me/notifications", body, NotificationsView)
        else:
            self._connection.send("PUT", f"/accounts/{quote(account, safe='')}/mail", body)

    def add_webhook(self, url: str, /) -> WebhookView:
        """Have an address called; the answer has the secret, which is shown once."""
        return self._connection.post("/me/webhooks", {"url": url}, WebhookView)

    def remove_webhook(self, webhook: str, /) -> None:
        """Call an address no more."""
        self._connection.send("DELETE", f"/me/webhooks/{quote(webhook, safe='')}")
