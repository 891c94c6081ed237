"""Waiting for others: until the nodes have checked one's rows, until a run has ended."""

from __future__ import annotations

from tacit.client import RunView, SubmittedRows
from tacit.errors import RunEndedError, SealError
from tacit.participant.account.profile import Profile


def wait_for_check(
    profile: Profile, run: str, objective: int, /, *, timeout: float | None = None
) -> SubmittedRows:
    """Wait until the nodes have checked one's sealed rows; a `SealError` if they refuse them."""
    found: list[SubmittedRows] = []
    with profile.connect() as client:

        def is_checked(_seen: RunView) -> bool:
            mine = client.runs.submissions(run)
            found[:] = [each for each in mine if each.objective == objective]
            return any(each.state in ("accepted", "refused") for each in found)

        client.runs.wait(run, is_checked, timeout=timeout)
    if found[0].state == "refused":
        why = found[0].reason or "they give no reason"
        raise SealError(f"the nodes refuse your rows: {why}; correct them and submit again")
    return found[0]


def wait_for_end(profile: Profile, run: str, /, *, timeout: float | None = None) -> RunView:
    """Wait until a run has ended, however it did."""
    with profile.connect() as client:
        return client.runs.wait_for_end(run, timeout=timeout)


def check_is_finished(run: str, state: str, reason: str | None, /) -> None:
    """Raise an error for a run that ended in any other way."""
    if state != "finished":
        raise RunEndedError(f"{run} is {state}: {reason or 'no reason is given'}")
