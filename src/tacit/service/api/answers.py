"""Answer with runs: one with everything, or a page of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Row
from sqlalchemy.orm import Session

from tacit.client import ListedRun, MemberView, Page, RunProgress, RunView
from tacit.service.api.paging import page_of
from tacit.service.storage import Run, members_with_keys, read_run
from tacit.service.storage.pages import Position, RunFilter, member_counts, page_of_runs


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
        warnings=[*run.warnings, *run.troubles],
        created_by=run.created_by,
        invitations=invitations or {},
    )


def runs_page(
    session: Session, wanted: RunFilter, /, *, after: Position | None, limit: int
) -> Page[ListedRun]:
    """The next runs after a position, the newest first."""
    found = page_of_runs(session, wanted, after=after, limit=limit + 1)
    return page_of(
        found,
        limit,
        shown=lambda rows: _listed(session, rows),
        key=lambda last: Position(last.created, last.id),
    )


def _listed(session: Session, rows: Sequence[Row[Any]]) -> list[ListedRun]:
    counts = member_counts(session, [row.id for row in rows])
    return [_listed_run(row, *counts.get(row.id, (0, 0, 0))) for row in rows]


def _listed_run(row: Row[Any], joined: int, signed: int, accepted: int) -> ListedRun:
    return ListedRun(**_columns(row), joined=joined, signed=signed, accepted=accepted)


def _columns(run: Run | Row[Any]) -> dict[str, Any]:
    times = ("created", "running_since", "deadline_at", "ended")
    columns = ("id", "name", "state", "reason", *times, "series", "series_number")
    known = {name: getattr(run, name) for name in columns}
    last: RunProgress | None = run.progress
    return {
        **known,
        **msgspec.structs.asdict(run.summary),
        "generation": None if last is None else last.generation,
        "best": None if last is None else last.best,
        "reported_at": None if last is None else last.at,
    }
