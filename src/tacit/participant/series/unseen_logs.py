"""Runs that costs were sealed for, and whose logs nobody has shown since.

A platform can call a finished run failed, keep it running for ever or leave it out of its list, and
withhold the logs: then nobody sees what was asked of the nodes. So what counts is what this machine
has written down itself, and not what the platform says of a run.
"""

from __future__ import annotations

from collections.abc import Collection

from tacit.engine.agreement import Agreement
from tacit.participant.account.profile import Profile
from tacit.participant.series.kept import as_taken, checked_runs, record_of, series_named

MOST_UNSEEN = 3
MOST_KEPT = 100
"""So many old runs stay written down at most, where somebody puts up with many or checks none."""


def is_sealed_here(profile: Profile, run: str, /) -> bool:
    """Whether this machine has sealed costs for a run, so that it can have begun."""
    agreement = profile.signed_agreement(run)
    objectives = [] if agreement is None else agreement.confidential()
    return any(profile.manifests(run, k) for k in objectives)


def unseen_runs(profile: Profile, series_id: str, /, *, seen: Collection[str] = ()) -> list[str]:
    """The runs without checked logs, the oldest first; `seen` are not counted."""
    known = {*checked_runs(profile), *seen}
    taken = [each.run for each in record_of(profile, series_id).runs() if each.run]
    return [run for run in taken if run not in known and is_sealed_here(profile, run)]


def unseen_words(runs: Collection[str], /) -> str:
    """What is wrong where so many are missing."""
    return (
        f"the logs of {', '.join(sorted(runs))} were never shown, and your costs were sealed for "
        "them: what the nodes were asked there is not known; ask the others and the nodes' "
        "operators for the logs, or allow more with --unseen"
    )


def note_run(profile: Profile, run: str, agreement: Agreement, /) -> None:
    """Write down that a run of a series is about to be signed, if it is one.

    Runs whose logs were never shown stay written down however old they are, so that a platform
    gains nothing by waiting between them.
    """
    if agreement.series is None:
        return
    found = series_named(profile, agreement.series.series)
    if found is not None:
        unseen = unseen_runs(profile, found[0])[-MOST_KEPT:]
        record_of(profile, found[0]).add(as_taken(run, agreement), keep=unseen)
