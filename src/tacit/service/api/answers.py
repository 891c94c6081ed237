"""Rows of the database as the API answers with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Integer, case, cast, func, select
from sqlalchemy.orm import Session

from tacit.client import (
    MemberView,
    RunSummary,
    RunTerms,
    RunView,
)
from tacit.service.storage import Account, Member, Run, list_runs, members_with_keys, read_run

MOST_KEPT = 10_000


def run_view(
    session: Session, run_id: str, /, *, invitations: dict[str, str] | None = None
) -> RunView:
    """A run with everything that its members may know."""
    run = read_run(session, run_id)
    members = [
        MemberView(
            name=member.participant,
            rows=member.rows,
            joined=key is not None,
            signed=member.signature is not None,
            submission_state=member.submission_state,
        )
        for member, key in members_with_keys(session, run_id)
    ]
    return RunView(
        **_columns(run),
        **_terms_summary(run.terms)._asdict(),
        joined=sum(each.joined for each in members),
        signed=sum(each.signed for each in members),
        accepted=sum(each.submission_state == "accepted" for each in members),
        terms=run.terms.without_weights(),
        members=members,
        cluster=run.cluster,
        agreement_hash=run.agreement_hash,
        progress=run.progress,
        warnings=run.warnings,
        created_by=run.created_by,
        invitations=invitations or {},
    )


class _TermsSummary(NamedTuple):
    kind: str
    disclosures: list[str]
    participants: int


def _terms_summary(terms: RunTerms) -> _TermsSummary:
    """The kind of a problem, what is disclosed of each confidential objective, and to how many."""
    disclosures = list(dict.fromkeys(each.disclosure for each in terms.confidential))
    return _TermsSummary(terms.problem.kind, disclosures, len(terms.participants))


@dataclass
class SummaryCache:
    """What the list of runs says of their terms; one per service.

    Terms can be long, and the list is asked for often. From the invitation on they stay as they
    are, so what is taken from them is kept.
    """

    _kept: dict[str, _TermsSummary] = field(default_factory=dict)

    def of(self, run: Run, /) -> _TermsSummary:
        """In a session, which fetches the terms if they are needed."""
        if run.state == "draft":
            return _terms_summary(run.terms)
        if run.id not in self._kept:
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[run.id] = _terms_summary(run.terms)
        return self._kept[run.id]


def run_summaries(
    session: Session, cache: SummaryCache, /, *, participant: str | None = None
) -> list[RunSummary]:
    """All runs, or those of a participant, the newest first."""
    ready = _ready(session)
    found = []
    for run in list_runs(session, participant=participant):
        joined, signed, accepted = ready.get(run.id, (0, 0, 0))
        found.append(
            RunSummary(
                **_columns(run),
                **cache.of(run)._asdict(),
                joined=joined,
                signed=signed,
                accepted=accepted,
            )
        )
    return found


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


def _columns(run: Run) -> dict[str, Any]:
    """What a run's own columns say, but for the long ones."""
    times = ("created", "running_since", "deadline_at", "ended")
    columns = ("id", "name", "state", "reason", *times, "series", "series_number")
    known = {name: getattr(run, name) for name in columns}
    last = run.progress
    return {
        **known,
        "generation": None if last is None else last.generation,
        "best": None if last is None else last.best,
        "reported_at": None if last is None else last.at,
    }
