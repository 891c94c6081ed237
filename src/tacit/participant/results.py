"""Fetch a participant's runs and their results, and keep what was shown of them."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tacit.client import ListedRun, ListedSeries, RunResult
from tacit.errors import LogError, TrustError
from tacit.participant.profile import Profile
from tacit.participant.receipts import fetch_own_parts, fetch_receipts, seen_before
from tacit.verify import Claim, ClaimedResult, read_claimed

SHOWN = "shown.json"


class OwnResult(RunResult, frozen=True, kw_only=True):
    """The result of a run, with what only this machine knows of it."""

    own_rows: list[dict[int, int]] = msgspec.field(default_factory=list)
    """Of each plan for its owners, the columns of one's own rows, as put together here."""
    rejected: list[str] = msgspec.field(default_factory=list)
    """Why boxes of some nodes do not count."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""

    @property
    def count(self) -> int:
        """The number of different plans; of parts for their owners, one per weighting."""
        return len(self.own_rows) or len(self.plans)


def runs(profile: Profile, /) -> list[ListedRun]:
    with profile.connect() as client:
        return client.runs.all()


def find_run(profile: Profile, named: str, /) -> str:
    """The id of a run that is given by its id or its name."""
    if named.startswith("r-"):  # known without asking the platform
        return named
    with profile.connect() as client:
        return client.runs.find(named)


def find_series(profile: Profile, named: str, /) -> str:
    """The id of a series that is given by its id or its name."""
    if named.startswith("s-"):
        return named
    with profile.connect() as client:
        return client.series.find(named)


def series_of(profile: Profile, /) -> list[ListedSeries]:
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
            # The platform claims a plan for owners, and this machine has signed nothing.
            profile.need_signed_agreement(run)
        outcome = OwnResult(
            **msgspec.structs.asdict(found),
            own_rows=[own.columns for own in parts],
            rejected=[why for own in parts for why in own.rejected],
            receipts=fetch_receipts(profile, client, run),
        )
    # An interrupted run may be resumed and end with another plan; `log` checks that one then.
    if outcome.state != "interrupted":
        _keep_shown(profile, run, ClaimedResult.of(found))
    return outcome


def _keep_shown(profile: Profile, run: str, claimed: ClaimedResult) -> None:
    if not claimed.says_something:
        return
    earlier = shown_before(profile, run)
    if claimed.plan is None and earlier is not None:
        # A platform that shows no plan now must not make this machine forget the one it showed.
        claimed = msgspec.structs.replace(claimed, plan=earlier.plan)
    profile.keep(run, SHOWN, msgspec.json.encode(claimed))


def shown_before(profile: Profile, run: str, /) -> ClaimedResult | None:
    """The result that this machine has shown last for a run, or None."""
    data = profile.read(run, SHOWN)
    try:
        return None if data is None else read_claimed(data)
    except msgspec.DecodeError as error:
        raise LogError(
            f"what was shown of {run} is kept here and was changed ({error}); run tacit "
            "participant result again"
        ) from None


def was_shown(profile: Profile, run: str, /) -> bool:
    """Return whether this machine has shown a plan of a run, or its own part of one."""
    shown = shown_before(profile, run)
    return (shown is not None and shown.plan is not None) or bool(seen_before(profile, run))


def with_shown(profile: Profile, run: str, claim: Claim, /) -> Claim:
    """A claim, with what this machine has shown of the same run before."""
    shown = shown_before(profile, run)
    earlier = None if shown is None else shown.claim()
    return replace(claim, shown=None if earlier is None else earlier.plan, earlier=earlier)


def check_shows_no_plan(outcome: RunResult, /) -> None:
    """Refuse a plan that is for its owners: a platform that shows one has invented it."""
    if outcome.plan is not None:
        raise TrustError(
            "the platform shows a plan that is for its owners alone, so it is not the nodes'; do "
            "not use it, and ask the operator"
        )
