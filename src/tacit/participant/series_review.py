"""Check everything that must hold before a participant signs a series, show it, and sign it."""

from __future__ import annotations

import time
from math import ceil
from typing import Any

from msgspec.structs import replace

from tacit.agreement import (
    DAY,
    Series,
    canonical,
    check_series,
    check_still_runs,
    read_series,
    series_hash,
    sign_series,
)
from tacit.audit import told_by_plans
from tacit.client import SeriesView
from tacit.errors import TacitError
from tacit.participant.leakage_budget import SCALE
from tacit.participant.profile import Profile
from tacit.participant.review_words import review_lines
from tacit.participant.reviewing import (
    Review,
    check_keys,
    profile_trust,
    refusals_of_pattern,
)
from tacit.participant.series_records import (
    all_signed_series,
    folder_of_series,
    keep_series,
    series_named,
    signed_series,
)
from tacit.participant.trust import Trust
from tacit.plain_text import plain_line

WHAT_VARIES = {
    "rows": "rows, their names and who owns them",
    "columns": "columns and their names",
    "forbidden": "which pairs are forbidden",
    "data": "what the kind of problem knows besides, such as capacities",
}


def review_series(
    profile: Profile,
    series_id: str,
    /,
    *,
    trust: Trust | None = None,
    unpinned: bool = False,
) -> Review:
    """Fetch a series and check all that can be checked before signing; see `review`."""
    folder_of_series(profile, series_id)  # refuses what is not a name of a series
    with profile.connect() as client:
        view = client.series.show(series_id)
        series = read_series(client.series.document(series_id))
    pattern, refusals = series.pattern(), []
    try:
        check_series(series)
        check_still_runs(series, time.time())
    except (TacitError, ValueError) as error:
        refusals.append(f"the series contradicts itself: {error}")
    refusals += refusals_of_pattern(profile, pattern)
    signed = signed_series(profile, series_id)
    if signed is not None and signed != series:
        refusals.append(
            f"this machine signed another series under this name ({series_hash(signed)[:16]}...), "
            "and the platform has changed it since"
        )
    # Its runs are counted under the name it was signed as. Under a second name the count of runs a
    # day would begin anew, and the limit would not hold.
    named = series_named(profile, series_hash(series))
    if named is not None and named[0] != series_id:
        refusals.append(
            f"this machine signed this very series as {named[0]}, where its runs are counted; "
            "under another name they would be counted anew"
        )
    trust = trust or profile_trust(profile)
    if trust is not None:
        # A series names no certificates: they may be renewed, and each run is held against them.
        trust = replace(trust, node=[replace(each, certificate=None) for each in trust.node])
    warnings = _left_behind(profile, series)
    warnings += check_keys(pattern, trust, refusals, own=profile.account, unpinned=unpinned)
    return Review(
        series_id,
        series.name,
        view.state,
        pattern,
        profile.account,
        pinned=trust is not None,
        series=series,
        refusals=refusals,
        warnings=warnings,
    )


def _left_behind(profile: Profile, series: Series) -> list[str]:
    """Signed series whose balances do not continue in this one."""
    if series.equity is None:
        return []
    here, now = {each.name for each in series.participants}, time.time()
    left = []
    for name, other in all_signed_series(profile):
        shared = here & {each.name for each in other.participants}
        stands = other.equity is not None and other.limits.expires > now
        # Balances compare participants with each other, so that one in common leaves nothing
        # behind.
        if stands and len(shared) > 1 and series_hash(other) != series_hash(series):
            left.append(
                f"balances of series {name} ({other.name}), which you signed with some of the same "
                "participants, do not go on in this one"
            )
    return left


def sign_reviewed_series(profile: Profile, seen: Review, /) -> SeriesView:
    """Sign the series that was shown and no other; what was signed stays in the profile."""
    assert seen.series is not None
    seen.check()
    # First kept, then sent: whatever the platform has a signature for is known here.
    keep_series(profile, seen.id, seen.series)
    signature = sign_series(seen.series, profile.keys().signing)
    with profile.connect() as client:
        return client.series.sign(seen.id, signature)


def series_lines(review: Review, /) -> list[str]:
    """A series in plain words: what it allows, then what holds for a run if nothing varies."""
    series = review.series
    assert series is not None
    limits = series.limits
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(limits.expires))
    lines = [
        f"Series {review.id}, {series.name}",
        f"Hash {review.hash}",
        "",
        "What you allow by signing",
        "  your machine signs runs by itself, each within what is written here, and refuses others",
        f"  at most {limits.runs_per_day} runs a day, in any 23.5 hours, until {until}",
        f"  a run takes {limits.deadline_seconds:g} s at most, its agreement is valid for "
        f"{limits.run_hours:g} hours",
        f"  when: {_when(series)}",
        "",
        "What may vary from run to run",
        *(f"  {line}" for line in _varies(series)),
        *(["  balances begin at 0 for everybody"] if series.equity is not None else []),
        *(f"  {line}" for line in told_over_runs(series, now=time.time())),
        "",
        "A run if nothing varies",
    ]
    pattern = review_lines(review)[2:]  # without the lines that name a run and its hash
    return [*(plain_line(line, longest=2000) for line in lines), *pattern]


def told_over_runs(series: Series, /, *, now: float) -> list[str]:
    """Explain what the plans of all runs tell together, if costs stay the same."""
    # Under other disclosures what adds up is evaluations, which the budget counts.
    runs = max(1, ceil((series.limits.expires - now) / DAY)) * series.limits.runs_per_day
    lines = ["every plan tells something of your costs, and plans add up; small problems tell more"]
    if series.plan == "owners" or not series.pattern().sealed:
        return lines
    varying = series.varying
    one, all_of_them = (
        told_by_plans(count, masks=varying.mask_part, sizes=varying.size_part)
        for count in (1, runs)
    )
    if all_of_them == one:
        return lines
    return [
        *lines,
        f"there may be {runs:,} runs; if your costs stay the same, and the platform chooses masks, "
        f"rows and columns to learn them, their plans told it {all_of_them:.2f} of them where it "
        f"was measured, and one plan {one:.2f} {SCALE}",
        "with plan: owners the platform gets no plan; tacit participant budget counts what you "
        "have sealed",
    ]


def _when(series: Series) -> str:
    schedule = series.schedule
    if schedule is None:
        return "when the operator starts one"
    if schedule.every_minutes:
        return f"every {schedule.every_minutes} minutes"
    return f"daily at {', '.join(schedule.at)} UTC"


def _varies(series: Series) -> list[str]:
    varying = series.varying
    lines = [WHAT_VARIES[part] for part in varying.parts] or ["nothing"]
    lines.append(
        f"{varying.least_rows} to {varying.most_rows} rows, {varying.least_columns} to "
        f"{varying.most_columns} columns; every row may take at least {varying.least_allowed}"
    )
    if "forbidden" in varying.parts:
        lines.append(
            f"the mask of a run differs from the pattern's in at most {varying.most_mask_changes} "
            "pairs of each row"
        )
    lines.append(
        f"at least {varying.least_participants} of {len(series.participants)} participants, each "
        f"with at least {varying.least_each} rows"
    )
    return lines


def series_json(review: Review, /) -> dict[str, Any]:
    assert review.series is not None
    return {
        "id": review.id,
        "hash": review.hash,
        "series": canonical(review.series).decode(),
        "pinned": review.pinned,
        "may_sign": not review.refusals,
        "refusals": review.refusals,
        "warnings": review.warnings,
    }
