"""A participant's runs and their results."""

from __future__ import annotations

import msgspec

from tacit.client import RunResult, RunSummary, SeriesSummary
from tacit.errors import TrustError
from tacit.participant.account.profile import Profile
from tacit.participant.account.shapes import Outcome
from tacit.participant.own_parts import fetch_own_parts
from tacit.participant.receipts import fetch_receipts


def runs(profile: Profile, /) -> list[RunSummary]:
    """All runs that this participant is a member of."""
    with profile.connect() as client:
        return client.runs.all()


def series_of(profile: Profile, /) -> list[SeriesSummary]:
    """All series that this participant is a member of."""
    with profile.connect() as client:
        return client.series.all()


def result(profile: Profile, run: str, /) -> Outcome:
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
        outcome = Outcome(
            **msgspec.structs.asdict(found),
            own_rows=[own.columns for own in parts],
            rejected=[why for own in parts for why in own.rejected],
            receipts=fetch_receipts(profile, client, run),
        )
    # An interrupted run may be resumed and end with another plan; `log` checks that one then.
    if outcome.plan is not None and outcome.state != "interrupted":
        profile.keep_shown_plan(run, outcome.plan.items)
    return outcome


def check_shows_no_plan(outcome: RunResult, /) -> None:
    """A platform that shows a plan which is for its owners has made it up."""
    if outcome.plan is not None:
        raise TrustError(
            "the platform shows a plan that is for its owners alone, so it is not the nodes'; do "
            "not use it, and ask the operator"
        )
