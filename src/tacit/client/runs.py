"""Runs, from their draft to their result, through the API."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tacit.client.connection import Connection
from tacit.client.events import RunEvent, watch
from tacit.client.invitation_file import InvitationFile
from tacit.client.shapes import (
    CarriedLogs,
    InvitedRun,
    Parts,
    PublicWeights,
    RunResult,
    RunSummary,
    RunView,
    SubmittedRows,
)
from tacit.errors import RunEndedError, WaitingError


class Runs:
    """What can be done with runs: `client.runs`.

    A run is named by its id. What a role may do is the platform's to say.
    """

    def __init__(self, connection: Connection, /) -> None:
        self._connection = connection

    # Operators.

    def all(self) -> list[RunSummary]:
        """All runs that this account may see, the newest first."""
        return self._connection.get("/runs", list[RunSummary])

    def show(self, run: str, /) -> RunView:
        """A run with its members and how far it is."""
        return self._connection.get(_at(run), RunView)

    def terms(self, run: str, /) -> dict[str, Any]:
        """All terms of a run, also the weights of public objectives: to copy or to change it."""
        terms = self.show(run).terms
        objectives = terms.get("objectives", [])
        if all(each.get("confidential", True) for each in objectives):
            return terms
        known = self.public_weights(run).objectives
        with_weights = [
            {**each, "weights": known.get(k, each.get("weights"))}
            for k, each in enumerate(objectives)
        ]
        return {**terms, "objectives": with_weights}

    def new(self, terms: Mapping[str, Any], /) -> RunView:
        """Draft a run; terms that no agreement could be made of are refused."""
        return self._connection.post("/runs", terms, RunView)

    def change(self, run: str, terms: Mapping[str, Any], /) -> RunView:
        """Give a draft other terms."""
        return self._connection.put(_at(run), terms, RunView)

    def discard(self, run: str, /) -> None:
        """Discard a draft."""
        self._connection.send("DELETE", _at(run))

    def invite(self, run: str, /) -> InvitedRun:
        """Invite all participants of a draft; new ones have a code, which is shown once."""
        return self._connection.post(_at(run, "invite"), {}, InvitedRun)

    def invitation(self, run: str, name: str, /) -> InvitationFile:
        """A new invitation for one participant of a run, as the file that it joins with.

        Earlier codes of this participant end.
        """
        path = _at(run, f"invitations/{quote(name, safe='')}")
        return self._connection.post(path, {}, InvitationFile)

    def cancel(self, run: str, /, *, reason: str = "") -> RunView:
        """Cancel a run that has not ended; one that is running keeps its best so far."""
        return self._connection.post(_at(run, "cancel"), _why(reason), RunView)

    def resume(self, run: str, /) -> RunView:
        """Let an interrupted run go on."""
        return self._connection.post(_at(run, "resume"), {}, RunView)

    # Participants.

    def agreement(self, run: str, /) -> bytes:
        """The agreement, byte for byte as it is signed."""
        return self._connection.send("GET", _at(run, "agreement"))

    def public_weights(self, run: str, /) -> PublicWeights:
        """The weights of public objectives."""
        return self._connection.get(_at(run, "public-weights"), PublicWeights)

    def sign(self, run: str, signature: bytes, /) -> RunView:
        """Hand in one's signature under the agreement."""
        body = {"signature": signature.hex()}
        return self._connection.post(_at(run, "signature"), body, RunView)

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
        return self._connection.post(_at(run, "submission"), body, SubmittedRows)

    def submissions(self, run: str, /) -> list[SubmittedRows]:
        """One's own sealed rows, and how the nodes took them."""
        return self._connection.get(_at(run, "submission"), list[SubmittedRows])

    def withdraw(self, run: str, /, *, reason: str = "") -> RunView:
        """Take no part after all, which cancels the run."""
        return self._connection.post(_at(run, "withdraw"), _why(reason), RunView)

    # Results.

    def result(self, run: str, /) -> RunResult:
        """The result of a run that has ended; an interrupted one has its best so far."""
        return self._connection.get(_at(run, "result"), RunResult)

    def result_csv(self, run: str, /) -> str:
        """The plan as CSV."""
        return self._connection.send("GET", _at(run, "result.csv")).decode()

    def progress_csv(self, run: str, /) -> str:
        """A line per generation, as CSV."""
        return self._connection.send("GET", _at(run, "progress.csv")).decode()

    def parts(self, run: str, /) -> Parts:
        """The boxes with one's own part of a plan that is for its owners."""
        return self._connection.get(_at(run, "parts"), Parts, bulk=True)

    def ledger(self, run: str, /) -> bytes:
        """Everything that the nodes have disclosed so far, one entry per line."""
        return self._connection.send("GET", _at(run, "ledger"), bulk=True)

    def logs(self, run: str, nonce: bytes, /, *, heads_only: bool = False) -> CarriedLogs:
        """The nodes' logs, or their heads alone, signed for a nonce that the asker has drawn."""
        body: dict[str, Any] = {"nonce": nonce.hex()}
        if heads_only:
            body["heads_only"] = True
        return self._connection.post(_at(run, "logs"), body, CarriedLogs, bulk=not heads_only)

    def bundle(self, run: str, /) -> bytes:
        """Everything that it takes to check a run that has ended, as one ZIP file."""
        return self._connection.send("GET", _at(run, "bundle"), bulk=True)

    # Waiting.

    def watch(
        self, run: str, /, *, after: int | None = None, timeout: float | None = None
    ) -> Iterator[RunEvent]:
        """What happens to a run, after an event or from now on, until nobody reads any more."""
        until = None if timeout is None else time.monotonic() + timeout
        return watch(self._connection, _at(run, "events"), after=after, until=until)

    def wait(
        self, run: str, done: Callable[[RunView], bool], /, *, timeout: float | None = None
    ) -> RunView:
        """Wait until something holds of a run; a `WaitingError` says that it did not in time.

        A run that ends without it raises a `RunEndedError`.
        """
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
        """Wait until a run has ended, however it did."""
        return self.wait(run, lambda seen: seen.has_ended, timeout=timeout)


def _at(run: str, what: str = "") -> str:
    return f"/runs/{quote(run, safe='')}" + (f"/{what}" if what else "")


def _why(reason: str) -> dict[str, str]:
    return {"reason": reason} if reason else {}
