"""Answer with runs: one with everything, or a list of summaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Integer, case, cast, func, select
from sqlalchemy.orm import Session

from tacit.client import (
    ListedRun,
    MemberView,
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
        # Matrices of public objectives can be large and this is requested often: they have their
        # own route.
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
    disclosures = list(dict.fromkeys(each.disclosure for each in terms.confidential))
    return _TermsSummary(terms.problem.kind, disclosures, len(terms.participants))


@dataclass
class SummaryCache:
    """Keeps what the list of runs shows of their terms; one per service.

    Terms can be long, and the list is requested often. From the invitation on they stay as they
    are, so their summaries can be kept.
    """

    _kept: dict[str, _TermsSummary] = field(default_factory=dict)

    def of(self, run: Run, /) -> _TermsSummary:
        """Summarize a run's terms; its session must be open, to fetch them if they are needed."""
        if run.state == "draft":
            return _terms_summary(run.terms)
        if run.id not in self._kept:
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[run.id] = _terms_summary(run.terms)
        return self._kept[run.id]


def run_summaries(
    session: Session, cache: SummaryCache, /, *, participant: str | None = None
) -> list[ListedRun]:
    """All runs, or those of a participant, the newest first."""
    # One query for all runs in place of one for each.
    counts = _member_counts(session)
    found = []
    for run in list_runs(session, participant=participant):
        joined, signed, accepted = counts.get(run.id, (0, 0, 0))
        found.append(
            ListedRun(
                **_columns(run),
                **cache.of(run)._asdict(),
                joined=joined,
                signed=signed,
                accepted=accepted,
            )
        )
    return found


def _member_counts(session: Session) -> dict[str, tuple[int, int, int]]:
    """Count, per run, who has joined, who has signed, and whose costs the nodes took."""
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
