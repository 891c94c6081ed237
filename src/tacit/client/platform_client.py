"""Everything that the platform's API does, as Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from tacit.client.accounts import Accounts
from tacit.client.certificates import platform_address
from tacit.client.connection import Connection
from tacit.client.notifications import Notifications
from tacit.client.runs import Runs
from tacit.client.series import SeriesOfRuns
from tacit.client.shapes import Cluster, Health, Joined, Me


class PlatformClient(Connection):
    """One account's connection to a platform, with what can be asked there.

    ::

        with PlatformClient("https://platform.example", token=token) as client:
            run = client.runs.new(terms)
            for name, code in client.runs.invite(run.id).invitations.items():
                print(name, code)
            print(client.runs.wait_for_end(run.id).state)

    Every refusal is a `PlatformError` whose class says of which kind, and whose text is one
    sentence with the remedy. Raises a `TrustError` if the platform shows another certificate
    than `ca`.
    """

    @cached_property
    def runs(self) -> Runs:
        """Runs, and taking part in them."""
        return Runs(self)

    @cached_property
    def series(self) -> SeriesOfRuns:
        """Series of runs."""
        return SeriesOfRuns(self)

    @cached_property
    def accounts(self) -> Accounts:
        """Accounts, for operators."""
        return Accounts(self)

    @cached_property
    def notifications(self) -> Notifications:
        """How the account is told of what needs it."""
        return Notifications(self)

    def health(self) -> Health:
        """Whether the platform works, and its version."""
        return self.get("/health", Health)

    def join(
        self,
        code: str,
        /,
        *,
        signing_key: str | None = None,
        sign: Callable[[str], bytes] | None = None,
        account: str | None = None,
        label: str = "",
    ) -> Joined:
        """Turn a one-time code into a token, which this connection then shows.

        A participant brings its signing key, and shows that it is its own: `sign` gets the address
        of this platform and returns `sign_joining` of it, the code and the account.
        """
        body: dict[str, str] = {"code": code}
        if signing_key is not None and sign is not None and account is not None:
            here = platform_address(self.url)
            body |= {"signing_key": signing_key, "signature": sign(here).hex()}
            body |= {"account": account, "platform": here}
        if label:
            body["label"] = label
        joined = self.post("/join", body, Joined)
        self.show_token(joined.token)
        return joined

    def me(self) -> Me:
        """Whose token this connection shows."""
        return self.get("/me", Me)

    def give_back_token(self) -> None:
        """Revoke the token that this connection shows."""
        self.send("DELETE", "/me/token")

    def clusters(self) -> list[Cluster]:
        """The nodes that the platform knows, as it last saw them."""
        return self.get("/clusters", list[Cluster])

    def generate(self, asked: Mapping[str, Any], /) -> dict[str, Any]:
        """Terms of a run about a problem that the platform draws, to try things with."""
        return self.post("/problems/generate", asked, dict[str, Any])

    def metrics(self) -> str:
        """Figures for Prometheus."""
        return self.send("GET", "/metrics").decode()
