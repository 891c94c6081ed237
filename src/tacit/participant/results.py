"""Fetch a participant's runs and their results, and keep what was shown of them."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tacit.client import RunResult, RunSummary, SeriesSummary
from tacit.errors import LogError, TrustError
from tacit.participant.profile import Profile
from tacit.participant.receipts import fetch_own_parts, fetch_receipts
from tacit.verify import Claim, ClaimedResult, read_claimed


class OwnResult(RunResult, frozen=True, kw_only=True):
    """The result of a run, with what only this machine knows of it."""

    own_rows: list[dict[int, int]] = msgspec.field(default_factory=list)
    """Of each plan for its owners, the columns of one's own rows, as put together here."""
    rejected: list[str] = msgspec.field(default_factory=list)
    """Why boxes of some nodes do not count."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""


def runs(profile: Profile, /) -> list[RunSummary]:
    """All runs that this participant is a member of."""
    with profile.connect() as client:
        return client.runs.all()


def series_of(profile: Profile, /) -> list[SeriesSummary]:
    """All series that this participant is a member of."""
    with profile.connect() as client:
        return client.series.all()


def result(profile: Profile, run: str, /) -> OwnResult:
    """The result of a run, or its state so far."""
    with profile.connect() as client:
        found = client.runs.result(run)
        agreement = profile.signed_agreement(run)
        parts = []
        if agreement is not None and agreement.for_owners:
            check_shows_no_plan(found)
            parts = fetch_own_parts(profile, client, run, agreement) if found.for_owners else []
        elif found.for_owners:
            profile.need_signed_agreement(run)
        outcome = OwnResult(
            **msgspec.structs.asdict(found),
            own_rows=[own.columns for own in parts],
            rejected=[why for own in parts for why in own.rejected],
            receipts=fetch_receipts(profile, client, run),
        )
    # An interrupted run may be resumed and end with another plan; `log` checks that one then.
    if outcome.state != "interrupted":
        if outcome.plan is not None:
            profile.keep_shown_plan(run, outcome.plan.items)
        claimed = ClaimedResult.of(found)
        if claimed.says_something:
            profile.keep_shown_result(run, msgspec.json.encode(claimed))
    return outcome


def with_shown(profile: Profile, run: str, claim: Claim, /) -> Claim:
    """A claim, with what this machine has shown of the same run before."""
    data, earlier = profile.shown_result(run), None
    if data is not None:
        try:
            earlier = read_claimed(data).claim()
        except msgspec.DecodeError as error:
            raise LogError(
                f"what was shown of {run} is kept here and was changed ({error}); run tacit "
                "participant result again"
            ) from None
    return replace(claim, shown=profile.shown_plan(run), earlier=earlier)


def check_shows_no_plan(outcome: RunResult, /) -> None:
    """A platform that shows a plan which is for its owners has made it up."""
    if outcome.plan is not None:
        raise TrustError(
            "the platform shows a plan that is for its owners alone, so it is not the nodes'; do "
            "not use it, and ask the operator"
        )
