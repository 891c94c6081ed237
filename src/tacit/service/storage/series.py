"""Query series, their participants and their runs."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from tacit.errors import NotThereError
from tacit.service.storage.models import Account, Run, SeriesMember, StandingSeries


def read_standing_series(
    session: Session, series_id: str, /, *, for_update: bool = False
) -> StandingSeries:
    """The series of this name, or a `NotThereError`."""
    series = session.get(StandingSeries, series_id, with_for_update=for_update or None)
    if series is None:
        raise NotThereError("there is no such series for you; see the list of series")
    return series


def list_series(session: Session, /, *, participant: str | None = None) -> list[StandingSeries]:
    """All series, or those that a participant takes part in, the newest first."""
    query = select(StandingSeries).order_by(StandingSeries.created.desc())
    if participant is not None:
        mine = select(SeriesMember.series).where(SeriesMember.participant == participant)
        query = query.where(StandingSeries.id.in_(mine))
    return list(session.scalars(query))


def members_of_series(session: Session, series_id: str, /) -> list[tuple[SeriesMember, str | None]]:
    """The participants of a series in its order, each with its signing key if known."""
    query = (
        select(SeriesMember, Account.signing_key)
        .join(Account, Account.name == SeriesMember.participant)
        .where(SeriesMember.series == series_id)
        .order_by(SeriesMember.position)
    )
    return [(member, key) for member, key in session.execute(query)]


def read_series_member(session: Session, series_id: str, participant: str, /) -> SeriesMember:
    """A participant of a series, or a `NotThereError`."""
    member = session.get(SeriesMember, (series_id, participant))
    if member is None:
        raise NotThereError("there is no such series for you; see the list of series")
    return member


def runs_of_series(session: Session, series_id: str, /) -> list[Run]:
    """The runs of a series in their order; what is large is fetched only when asked for."""
    large = (defer(Run.terms), defer(Run.agreement), defer(Run.result))
    query = select(Run).options(*large).where(Run.series == series_id)
    return list(session.scalars(query.order_by(Run.series_number)))
