"""Accounts, for operators, through the API."""

from __future__ import annotations

from urllib.parse import quote

from tacit.client.connection import Connection
from tacit.client.shapes import Account, Invited


class Accounts:
    """What operators can do with accounts: `client.accounts`."""

    def __init__(self, connection: Connection, /) -> None:
        self._connection = connection

    def all(self) -> list[Account]:
        """All accounts by name."""
        return self._connection.get("/accounts", list[Account])

    def add(self, name: str, role: str, /) -> Invited:
        """Add an account; its one-time code is shown here and never again."""
        return self._connection.post("/accounts", {"name": name, "role": role}, Invited)

    def invite(self, name: str, /) -> Invited:
        """Invite an account again, which has lost its token; earlier codes end."""
        return self._connection.post(f"{_at(name)}/invitation", {}, Invited)

    def shut_out(self, name: str, /) -> None:
        """Revoke all tokens and codes of an account."""
        self._connection.send("DELETE", _at(name))


def _at(name: str) -> str:
    return f"/accounts/{quote(name, safe='')}"
