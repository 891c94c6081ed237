"""A series that continues another: whether it may, and whose nodes have the balances till then."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from tacit.engine.series import SignedSeries, check_who_stays, moves, read_series
from tacit.errors import AgreementError, ServiceError, WrongStateError
from tacit.service.storage import (
    StandingSeries,
    list_series,
    members_of_series,
    read_standing_series,
    runs_of_series,
)
from tacit.service.workflow.lifecycle import State


def check_may_continue(
    session: Session, before: StandingSeries, participants: Collection[str], /, *, by: str
) -> None:
    """Refuse what nodes would refuse, as long as nobody has signed it."""
    if not _has_begun(session, before.id):
        raise WrongStateError(
            f"series {before.id} has had no run, so there are no balances to take over; leave "
            "continues out, or name the series that it continues"
        )
    for other in list_series(session):
        continues = other.id != by and other.terms.get("continues") == before.id
        if continues and _has_begun(session, other.id):
            raise WrongStateError(
                f"series {other.id} has taken over the balances of {before.id}; continue that one"
            )
    members = [each.participant for each, _ in members_of_series(session, before.id)]
    try:
        check_who_stays(members, participants)
    except AgreementError as error:
        raise ServiceError(str(error)) from None


def _has_begun(session: Session, series_id: str) -> bool:
    return any(run.where is not State.DRAFT for run in runs_of_series(session, series_id))


def moved_from(session: Session, series_id: str, /) -> SignedSeries | None:
    """The series whose balances move to the nodes of this one; none if there are none, or stay."""
    series = read_standing_series(session, series_id)
    continues = series.terms.get("continues")
    if continues is None or series.data is None:
        return None
    before = read_standing_series(session, continues)
    if before.data is None or not moves(read_series(before.data), read_series(series.data)):
        return None
    members = members_of_series(session, continues)
    return SignedSeries(
        before.data, {each.participant: each.signature or b"" for each, _ in members}
    )
