"""Read long lists page by page, the newest first, along indexes.

A page begins after a position, which is the key of the last row of the page before. So it costs the
same however far down the list it is, and rows that come or go move none to another page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

from msgspec import Meta
from sqlalchemy import ColumnElement, Row, Select, case, func, literal, select, tuple_, union_all
from sqlalchemy.orm import InstrumentedAttribute, Session

from tacit.client import RunState
from tacit.service.storage.models import Account, Member, Run, SeriesMember, StandingSeries

_Select: TypeAlias = Select[*tuple[Any, ...]]
LISTED_COLUMNS = (
    Run.id,
    Run.name,
    Run.state,
    Run.reason,
    Run.created,
    Run.running_since,
    Run.deadline_at,
    Run.ended,
    Run.series,
    Run.series_number,
    Run.progress,
    Run.summary,
)
LISTED_SERIES_COLUMNS = (
    StandingSeries.id,
    StandingSeries.name,
    StandingSeries.hash,
    StandingSeries.cluster,
    StandingSeries.created,
    StandingSeries.next_at,
    StandingSeries.ended,
    StandingSeries.reason,
)


class Position(NamedTuple):
    """The key of a row in a list that is ordered by the time of creation."""

    created: float
    id: Annotated[str, Meta(pattern=r"^[rs]-[a-z2-7]{10}\Z")]


@dataclass(frozen=True)
class RunFilter:
    """Which runs are listed; what is left out narrows nothing."""

    states: tuple[RunState, ...] = ()
    name: str | None = None
    """The whole name."""
    words: tuple[str, ...] = ()
    """Each stands in the name or in the id."""
    participant: str | None = None
    created_by: str | None = None


def page_of_runs(
    session: Session, wanted: RunFilter, /, *, after: Position | None, limit: int
) -> list[Row[Any]]:
    """The next runs after a position, with what a list shows of them."""
    return list(session.execute(runs_query(wanted, after=after, limit=limit)))


def runs_query(wanted: RunFilter, /, *, after: Position | None, limit: int) -> _Select:
    """Select a page of runs, by a number of rows that depends on the page alone."""
    # Without a state there is one order of all runs, and an index has it. With several there is an
    # index per state: each gives as many as a page has, and the newest of those are the page.
    keys = [_keys(wanted, state, after, limit) for state in wanted.states or (None,)]
    newest = union_all(*(select(each.subquery()) for each in keys)).subquery()
    query = select(*LISTED_COLUMNS).join(newest, Run.id == newest.c.id)
    return query.order_by(newest.c.created.desc(), newest.c.id.desc()).limit(limit)


def _keys(wanted: RunFilter, state: RunState | None, after: Position | None, limit: int) -> _Select:
    """Select the keys of the newest runs; no column but those in an index is needed for them."""
    conditions: list[ColumnElement[bool]] = []
    created, run_id = Run.created, Run.id
    if state is not None:
        conditions.append(Run.state == state)
    if wanted.name is not None:
        conditions.append(Run.name == wanted.name)
    if wanted.created_by is not None:
        conditions.append(Run.created_by == wanted.created_by)
    for word in wanted.words:
        found = Run.name.icontains(word, autoescape=True)
        conditions.append(found | Run.id.contains(word, autoescape=True))
    joins_runs = bool(conditions)
    if wanted.participant is not None:
        created, run_id = Member.created, Member.run
        conditions.append(Member.participant == wanted.participant)
        if joins_runs:
            conditions.append(Run.id == Member.run)
    query = select(created.label("created"), run_id.label("id")).where(*conditions)
    return _next(query, created, run_id, after).limit(limit)


def _next(
    query: _Select,
    created: InstrumentedAttribute[float],
    key: InstrumentedAttribute[str],
    after: Position | None,
) -> _Select:
    if after is not None:
        position = tuple_(literal(after.created), literal(after.id))
        query = query.where(tuple_(created, key) < position)
    return query.order_by(created.desc(), key.desc())


def member_counts(session: Session, run_ids: Iterable[str], /) -> dict[str, tuple[int, int, int]]:
    """Count, per run, who has joined, who has signed, and whose costs the nodes took."""
    accepted = case((Member.submission_state == "accepted", 1))
    query = (
        select(
            Member.run,
            func.count(Account.signing_key),
            func.count(Member.signed),
            func.count(accepted),
        )
        .join(Account, Account.name == Member.participant)
        .where(Member.run.in_(list(run_ids)))
        .group_by(Member.run)
    )
    return {run: (joined, signed, taken) for run, joined, signed, taken in session.execute(query)}


def page_of_series(
    session: Session,
    /,
    *,
    name: str | None,
    participant: str | None,
    after: Position | None,
    limit: int,
) -> list[Row[Any]]:
    """The next series after a position, of all or of a participant, with what a list shows."""
    query = select(*LISTED_SERIES_COLUMNS)
    if name is not None:
        query = query.where(StandingSeries.name == name)
    if participant is not None:
        mine = select(SeriesMember.series).where(SeriesMember.participant == participant)
        query = query.where(StandingSeries.id.in_(mine))
    query = _next(query, StandingSeries.created, StandingSeries.id, after)
    return list(session.execute(query.limit(limit)))


def unsigned_series(session: Session, series_ids: Iterable[str], /) -> set[str]:
    """The series among these that somebody has not signed yet."""
    query = select(SeriesMember.series).where(
        SeriesMember.series.in_(list(series_ids)), SeriesMember.signature.is_(None)
    )
    return set(session.scalars(query))


def runs_per_series(session: Session, series_ids: Iterable[str], /) -> dict[str, int]:
    """Count the runs of each of these series that has any."""
    query = select(Run.series, func.count()).where(Run.series.in_(list(series_ids)))
    return {str(series): count for series, count in session.execute(query.group_by(Run.series))}


def page_of_accounts(session: Session, /, *, after: str | None, limit: int) -> list[Account]:
    """The next accounts after a name, in the order of the names."""
    query = select(Account).order_by(Account.name).limit(limit)
    if after is not None:
        query = query.where(Account.name > after)
    return list(session.scalars(query))
