"""What the list of runs says of each besides its state: the kind, what is disclosed, who is ready.

Terms can be long and the list is asked for often. From the invitation on they stay as they are, so
what is taken from them is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Integer, case, cast, func, select
from sqlalchemy.orm import Session

from tacit.service.api.shapes.runs import RunSummary
from tacit.service.storage import Account, Member, Run, list_runs
from tacit.service.workflow.lifecycle import State

MOST_KEPT = 10_000


class Glance(NamedTuple):
    """What a run's terms say in a few words."""

    kind: str
    disclosures: list[str]
    participants: int


def glance(terms: dict[str, Any], /) -> Glance:
    """The kind of a problem, what is disclosed of each confidential objective, and to how many."""
    secret = [each for each in terms["objectives"] if each.get("confidential", True)]
    disclosures = list(dict.fromkeys(each["disclosure"] for each in secret))
    return Glance(terms["problem"]["kind"], disclosures, len(terms["participants"]))


class Glances:
    """Glances at runs whose terms do not change any more; one per service."""

    def __init__(self) -> None:
        self._kept: dict[str, Glance] = {}

    def of(self, run: Run, /) -> Glance:
        """In a session, which fetches the terms if they are needed."""
        if run.where is State.DRAFT:
            return glance(run.terms)
        if run.id not in self._kept:
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[run.id] = glance(run.terms)
        return self._kept[run.id]


def _ready(session: Session) -> dict[str, tuple[int, int, int]]:
    """Per run, how many have joined, have signed, and have costs that the nodes took."""
    accepted = cast(case((Member.submission_state == "accepted", 1), else_=0), Integer)
    query = (
        select(
            Member.run,
            func.count(Account.signing_key),
            func.count(Member.signed),
            func.sum(accepted),
        )
        .join(Account, Account.name == Member.participant)
        .group_by(Member.run)
    )
    return {run: (joined, signed, taken) for run, joined, signed, taken in session.execute(query)}


def summary_columns(run: Run, /) -> dict[str, Any]:
    """What a run's own columns say, but for the long ones."""
    progress = run.progress or {}
    times = ("created", "running_since", "deadline_at", "ended")
    columns = ("id", "name", "state", "reason", *times, "series", "series_number")
    known = {name: getattr(run, name) for name in columns}
    reported = {"generation": "generation", "best": "best", "reported_at": "at"}
    return {**known, **{name: progress.get(key) for name, key in reported.items()}}


def run_summaries(
    session: Session, glances: Glances, /, *, participant: str | None = None
) -> list[RunSummary]:
    """All runs, or those of a participant, the newest first."""
    ready = _ready(session)
    found = []
    for run in list_runs(session, participant=participant):
        joined, signed, accepted = ready.get(run.id, (0, 0, 0))
        known = {**summary_columns(run), **glances.of(run)._asdict()}
        counts = {"joined": joined, "signed": signed, "accepted": accepted}
        found.append(RunSummary.model_validate({**known, **counts}))
    return found
