"""The platform's API as Python: one method per request."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from tacit.client.certificates import InvitationFile, platform_address
from tacit.client.connection import Connection, RunEvent, watch
from tacit.client.models import (
    MOST_LISTED,
    AccountView,
    CarriedLogs,
    ClusterView,
    Health,
    InvitedAccount,
    JoinAnswer,
    ListedRun,
    ListedSeries,
    Me,
    NotificationsView,
    Page,
    Parts,
    PublicWeights,
    RunResult,
    RunState,
    RunView,
    SeriesView,
    SubmittedRows,
    WebhookView,
)
from tacit.client.terms import RunTerms, SeriesTerms
from tacit.errors import InputError, RunEndedError, WaitingError

POLL_SECONDS = 0.5
T = TypeVar("T")


class _PartOfApi:
    def __init__(self, connection: Connection, /) -> None:
        self._connection = connection

    def _each(
        self, path: str, kind: type[Page[T]], wanted: Mapping[str, Any], size: int = MOST_LISTED
    ) -> Iterator[T]:
        """Yield what a list has, page by page."""
        options = {name: value for name, value in wanted.items() if value not in (None, "", ())}
        options["limit"] = size
        while True:
            page = self._connection.get(f"{path}?{urlencode(options, doseq=True)}", kind)
            yield from page.items
            # A platform that answers with an empty page and a cursor would have this go on forever.
            if page.next is None or not page.items:
                return
            options["after"] = page.next


class RunsApi(_PartOfApi):
    """Requests about runs: `client.runs`.

    A run is named by its id. What a role may do is the platform's to say.
    """

    # Operators.

    def each(
        self,
        *,
        states: Sequence[RunState] = (),
        name: str | None = None,
        search: str = "",
        mine: bool = False,
        page_size: int = MOST_LISTED,
    ) -> Iterator[ListedRun]:
        """Yield the runs that this account may see, the newest first, fetched page by page.

        `states` and `name` are whole; of `search` each word is in the name or the id. Of an
        operator's, `mine` are those that it created.
        """
        wanted = {"state": states, "name": name, "search": search, "mine": mine or None}
        return self._each("/runs", Page[ListedRun], wanted, page_size)

    def all(self) -> list[ListedRun]:
        """All runs that this account may see, the newest first."""
        return list(self.each())

    def find(self, named: str, /) -> str:
        """The id of a run that is given by its id or its name."""
        return named if named.startswith("r-") else _only_one("run", named, self.each(name=named))

    def show(self, run: str, /) -> RunView:
        return self._connection.get(_path("runs", run), RunView)

    def terms(
        self, run: str, /, *, name: str | None = None, deadline_seconds: float | None = None
    ) -> RunTerms:
        """All terms of a run, to copy or to change it, with another name or deadline.

        They have as many evaluations as fitted its own deadline; with another one these are open
        again.
        """
        terms = self.show(run).terms
        if not all(each.confidential for each in terms.objectives):
            terms = self.public_weights(run).filled_in(terms)
        if deadline_seconds not in (None, terms.deadline_seconds):
            limits = replace(terms.limits, evaluations=None)
            terms = replace(terms, deadline_seconds=deadline_seconds, limits=limits)
        return terms if name is None else replace(terms, name=name)

    def new(self, terms: RunTerms | Mapping[str, Any], /) -> RunView:
        """Draft a run; terms that cannot become an agreement are refused."""
        return self._connection.post("/runs", terms, RunView)

    def change(self, run: str, terms: RunTerms | Mapping[str, Any], /) -> RunView:
        return self._connection.put(_path("runs", run), terms, RunView)

    def discard(self, run: str, /) -> None:
        self._connection.send("DELETE", _path("runs", run))

    def invite(self, run: str, /) -> RunView:
        """Invite all participants of a draft; new ones have a code, which is shown once."""
        return self._connection.post(_path("runs", run, "invite"), {}, RunView)

    def invitation(self, run: str, name: str, /) -> InvitationFile:
        """A new invitation for one participant of a run, as the file that it joins with.

        Earlier codes of this participant end.
        """
        path = _path("runs", run, f"invitations/{quote(name, safe='')}")
        return self._connection.post(path, {}, InvitationFile)

    def invitations(self, run: str, names: Sequence[str] = (), /) -> list[InvitationFile]:
        """New invitations for participants of a run, or for all who have not joined yet."""
        seen = self.show(run)
        if seen.state == "draft":
            # Its codes are not needed: each file has a new one, and ends the one before.
            seen = self.invite(run)
        known = [each.name for each in seen.members]
        if unknown := [name for name in names if name not in known]:
            everybody = ", ".join(known)
            raise InputError(f"{unknown[0]!r} takes no part in {run}; choose from {everybody}")
        chosen = names or [each.name for each in seen.members if not each.joined]
        return [self.invitation(run, name) for name in chosen]

    def cancel(self, run: str, /, *, reason: str = "") -> RunView:
        """Cancel a run that has not ended; one that is running keeps its best so far."""
        return self._connection.post(_path("runs", run, "cancel"), _why(reason), RunView)

    def resume(self, run: str, /) -> RunView:
        return self._connection.post(_path("runs", run, "resume"), {}, RunView)

    # Participants.

    def agreement(self, run: str, /) -> bytes:
        """The agreement, byte for byte as it is signed."""
        return self._connection.send("GET", _path("runs", run, "agreement"))

    def public_weights(self, run: str, /) -> PublicWeights:
        return self._connection.get(_path("runs", run, "public-weights"), PublicWeights)

    def sign(self, run: str, signature: bytes, /) -> RunView:
        """Hand in one's signature under the agreement."""
        body = {"signature": signature.hex()}
        return self._connection.post(_path("runs", run, "signature"), body, RunView)

    def submit(
        self,
        run: str,
        objective: int,
        /,
        *,
        manifest: bytes,
        signature: bytes,
        boxes: Sequence[bytes],
    ) -> SubmittedRows:
        """Hand in one's sealed rows for an objective."""
        body = {
            "objective": objective,
            "manifest": manifest.hex(),
            "signature": signature.hex(),
            "boxes": [b64encode(box).decode() for box in boxes],
        }
        return self._connection.post(_path("runs", run, "submission"), body, SubmittedRows)

    def submissions(self, run: str, /) -> list[SubmittedRows]:
        """One's own sealed rows, and how the nodes took them."""
        return self._connection.get(_path("runs", run, "submission"), list[SubmittedRows])

    def withdraw(self, run: str, /, *, reason: str = "") -> RunView:
        """Take no part after all, which cancels the run."""
        return self._connection.post(_path("runs", run, "withdraw"), _why(reason), RunView)

    # Results.

    def result(self, run: str, /) -> RunResult:
        """The result of a run that has ended; an interrupted one has its best so far."""
        return self._connection.get(_path("runs", run, "result"), RunResult)

    def result_csv(self, run: str, /) -> str:
        return self._connection.send("GET", _path("runs", run, "result.csv")).decode()

    def progress_csv(self, run: str, /) -> str:
        return self._connection.send("GET", _path("runs", run, "progress.csv")).decode()

    def parts(self, run: str, /) -> Parts:
        """The boxes with one's own part of a plan that is for its owners."""
        return self._connection.get(_path("runs", run, "parts"), Parts, bulk=True)

    def ledger(self, run: str, /) -> bytes:
        """Everything that the nodes have disclosed so far, one entry per line."""
        return self._connection.send("GET", _path("runs", run, "ledger"), bulk=True)

    def logs(self, run: str, nonce: bytes, /, *, heads_only: bool = False) -> CarriedLogs:
        """The nodes' logs, or their heads alone, signed for a nonce that the asker has drawn."""
        body: dict[str, Any] = {"nonce": nonce.hex()}
        if heads_only:
            body["heads_only"] = True
        return self._connection.post(
            _path("runs", run, "logs"), body, CarriedLogs, bulk=not heads_only
        )

    def bundle(self, run: str, /) -> bytes:
        """Everything that it takes to check a run that has ended, as one ZIP file."""
        return self._connection.send("GET", _path("runs", run, "bundle"), bulk=True)

    # Waiting.

    def watch(
        self, run: str, /, *, after: int | None = None, timeout: float | None = None
    ) -> Iterator[RunEvent]:
        """Yield the events of a run, after one of them or from now on."""
        until = None if timeout is None else time.monotonic() + timeout
        return watch(self._connection, _path("runs", run, "events"), after=after, until=until)

    def wait(
        self, run: str, done: Callable[[RunView], bool], /, *, timeout: float | None = None
    ) -> RunView:
        """Wait until something holds of a run; a `WaitingError` says that it did not in time.

        A run that ends without it raises a `RunEndedError`.
        """
        # Looked at anew after every event: what happened before the stream began is seen, too.
        for event in self.watch(run, timeout=timeout):
            if event.kind == "progress":
                continue
            seen = self.show(run)
            if done(seen):
                return seen
            if seen.has_ended:
                why = f" ({seen.reason})" if seen.reason else ""
                raise RunEndedError(f"{run} is {seen.state}{why}; there is nothing to wait for")
        raise WaitingError("the platform ended the stream; ask again")

    def wait_for_end(self, run: str, /, *, timeout: float | None = None) -> RunView:
        return self.wait(run, lambda seen: seen.has_ended, timeout=timeout)


class SeriesApi(_PartOfApi):
    """Requests about series: `client.series`."""

    def all(self) -> list[ListedSeries]:
        """All series that this account may see, the newest first."""
        return list(self._each("/series", Page[ListedSeries], {}))

    def find(self, named: str, /) -> str:
        """The id of a series that is given by its id or its name."""
        if named.startswith("s-"):
            return named
        found = self._each("/series", Page[ListedSeries], {"name": named})
        return _only_one("series", named, found)

    def show(self, series: str, /) -> SeriesView:
        return self._connection.get(_path("series", series), SeriesView)

    def new(self, terms: SeriesTerms | Mapping[str, Any], /) -> SeriesView:
        """Create a series and invite its participants; new ones have a code, shown once."""
        return self._connection.post("/series", terms, SeriesView)

    def document(self, series: str, /) -> bytes:
        """The series, byte for byte as it is signed."""
        return self._connection.send("GET", _path("series", series, "document"))

    def sign(self, series: str, signature: bytes, /) -> SeriesView:
        """Hand in one's signature under the series."""
        body = {"signature": signature.hex()}
        return self._connection.post(_path("series", series, "signature"), body, SeriesView)

    def next_run(
        self, series: str, changes: Mapping[str, Any] | None = None, /, *, start: bool = True
    ) -> RunView:
        """The next run: a copy of the last one, with what is different."""
        body = {**(changes or {}), "start": start}
        return self._connection.post(_path("series", series, "runs"), body, RunView)

    def end(self, series: str, /, *, reason: str = "") -> SeriesView:
        """Start no further run of it; a running one continues."""
        return self._connection.post(_path("series", series, "end"), _why(reason), SeriesView)


class AccountsApi(_PartOfApi):
    """Requests of operators about accounts: `client.accounts`."""

    def all(self) -> list[AccountView]:
        """All accounts, by name."""
        return list(self._each("/accounts", Page[AccountView], {}))

    def add(self, name: str, role: str, /) -> InvitedAccount:
        """Add an account; its one-time code is shown here and never again."""
        return self._connection.post("/accounts", {"name": name, "role": role}, InvitedAccount)

    def invite(self, name: str, /) -> InvitedAccount:
        """Invite an account again, which has lost its token; earlier codes end."""
        return self._connection.post(_path("accounts", name, "invitation"), {}, InvitedAccount)

    def shut_out(self, name: str, /) -> None:
        """Revoke all tokens and codes of an account."""
        self._connection.send("DELETE", _path("accounts", name))


class NotificationsApi(_PartOfApi):
    """A mail address and webhooks: `client.notifications`."""

    def show(self) -> NotificationsView:
        return self._connection.get("/me/notifications", NotificationsView)

    def set_mail(self, mail: str | None, /, *, account: str | None = None) -> None:
        """Set or forget a mail address: one's own, or for operators that of an `account`."""
        body = {"mail": mail}
        if account is None:
            self._connection.put("/me/notifications", body, NotificationsView)
        else:
            self._connection.send("PUT", _path("accounts", account, "mail"), body)

    def add_webhook(self, url: str, /) -> WebhookView:
        """Have an address called; the answer has the secret, which is shown once."""
        return self._connection.post("/me/webhooks", {"url": url}, WebhookView)

    def test(self, *, within: float) -> NotificationsView:
        """Have a message sent to oneself in every way, and wait until each was tried."""
        until = time.monotonic() + within
        seen = self._connection.post("/me/notifications/test", {}, NotificationsView)
        while any(each.sent is None and each.error is None for each in seen.tests):
            if time.monotonic() > until:
                raise WaitingError("the test was not sent in time; see the platform's log")
            time.sleep(POLL_SECONDS)
            seen = self.show()
        return seen

    def remove_webhook(self, webhook: str, /) -> None:
        self._connection.send("DELETE", f"/me/webhooks/{quote(webhook, safe='')}")


class PlatformClient(Connection):
    """One account's connection to a platform, with what can be asked there.

    ::

        with PlatformClient("https://platform.example", token=token) as client:
            run = client.runs.new(terms)
            for name, code in client.runs.invite(run.id).invitations.items():
                print(name, code)
            print(client.runs.wait_for_end(run.id).state)

    Every refusal is the `ServiceError` that the platform raised, with one sentence and its
    remedy. Raises a `TrustError` if the platform shows another certificate
    than `ca`.
    """

    @cached_property
    def runs(self) -> RunsApi:
        return RunsApi(self)

    @cached_property
    def series(self) -> SeriesApi:
        return SeriesApi(self)

    @cached_property
    def accounts(self) -> AccountsApi:
        return AccountsApi(self)

    @cached_property
    def notifications(self) -> NotificationsApi:
        return NotificationsApi(self)

    def health(self) -> Health:
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
    ) -> JoinAnswer:
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
        joined = self.post("/join", body, JoinAnswer)
        self.show_token(joined.token)
        return joined

    def me(self) -> Me:
        return self.get("/me", Me)

    def give_back_token(self) -> None:
        """Revoke the token that this connection shows."""
        self.send("DELETE", "/me/token")

    def clusters(self) -> list[ClusterView]:
        """The nodes that the platform knows, as it last saw them."""
        return self.get("/clusters", list[ClusterView])

    def generate(self, asked: Mapping[str, Any], /) -> RunTerms:
        """Terms of a run about a problem that the platform draws, to try things with."""
        return self.post("/problems/generate", asked, RunTerms)

    def metrics(self) -> str:
        return self.send("GET", "/metrics").decode()


def _only_one(kind: str, name: str, listed: Iterable[ListedRun | ListedSeries]) -> str:
    # Two are enough to know that the name is not enough.
    found = [each.id for each in islice(listed, 2) if each.name == name]
    if len(found) != 1:
        many = "several have" if found else f"no {kind} has"
        raise InputError(f"{many} the name {name!r}; give the id from the list")
    return found[0]


def _path(kind: str, name: str, what: str = "") -> str:
    # Names may have any letters: quoted, none of them becomes another part of the path.
    return f"/{kind}/{quote(name, safe='')}" + (f"/{what}" if what else "")


def _why(reason: str) -> dict[str, str]:
    return {"reason": reason} if reason else {}
