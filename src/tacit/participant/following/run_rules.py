"""Whether a run is within the series that this machine signed: nothing else is ever signed of it.

Whatever the platform says of a series, what counts is what was signed here, the record that is kept
here and the clock of this machine.
"""

from __future__ import annotations

import time

from tacit.agreement import Agreement
from tacit.errors import AgreementError
from tacit.participant.account.profile import Profile
from tacit.participant.following.balances import head_refusals
from tacit.participant.following.run_records import as_followed, followed_runs, series_named
from tacit.series import check_still_runs, departures, objection_to_pace, objection_to_run


def series_refusals(
    profile: Profile, run: str, agreement: Agreement, /, *, deadline_seconds: float | None
) -> list[str]:
    """Why a run of a series must not be signed; nothing for a run of none."""
    named = agreement.series
    if named is None:
        return []
    found = series_named(profile, named.series)
    if found is None:
        return [
            f"it is a run of series {named.series[:16]}..., which this machine has not signed; "
            "tacit participant follow SERIES shows one and signs it"
        ]
    series_id, series = found
    now = time.time()
    reasons = [
        f"it is not within series {series_id}: {why}"
        for why in departures(series, agreement, now=now)
    ]
    try:
        check_still_runs(series, now)
    except AgreementError as error:
        reasons.append(str(error))
    taken, new = followed_runs(profile, series_id), as_followed(run, agreement)
    pace = objection_to_pace(taken, new, runs_per_day=series.limits.runs_per_day)
    reasons.extend(why for why in (objection_to_run(taken, new), pace) if why is not None)
    reasons.extend(head_refusals(profile, series_id, agreement))
    agreed = series.limits.deadline_seconds
    if deadline_seconds is not None and deadline_seconds > agreed:
        reasons.append(
            f"the platform gives it {deadline_seconds:g} s, and {agreed:g} s were agreed on"
        )
    return reasons
