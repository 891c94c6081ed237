"""A series that continues another: whether it may, and whose nodes have the balances till then."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from tacit.engine.series import SignedSeries, check_who_stays, moves, read_series
from tacit.errors import AgreementError, ServiceError, WrongStateError
from tacit.service.storage import (
    StandingSeries,
    has_had_run,
    list_series,
    members_of_series,
    read_standing_series,
)
from tacit.service.workflow.lifecycle import State


def check_may_continue(
    session: Session, before: StandingSeries, participants: Collection[str], /, *, by: str
) -> None:
    """Refuse what nodes would surely refuse, as long as nobody has signed it."""
    if not (has_book(session, before.id) or _may_have_book(session, before)):
        raise WrongStateError(
            f"series {before.id} has had no run that was submitted, so there are no balances to "
            "take over; leave continues out, or name the series that it continues"
        )
    for other in list_series(session):
        continues = other.id != by and other.terms.get("continues") == before.id
        if continues and has_book(session, other.id):
            raise WrongStateError(
                f"series {other.id} has taken over the balances of {before.id}; continue that one"
            )
    members = [each.participant for each, _ in members_of_series(session, before.id)]
    try:
        check_who_stays(members, participants)
    except AgreementError as error:
        raise ServiceError(str(error)) from None


def has_book(session: Session, series_id: str, /) -> bool:
    """Whether all nodes surely took a run of a series, and the balances that it continues with."""
    return has_had_run(session, series_id, State.SUBMITTED)


def _may_have_book(session: Session, series: StandingSeries) -> bool:
    """Whether nodes may have taken balances over with a run that was given up soon after.

    They are handed a run when all have signed it. One that continues none has no balances then.
    """
    continues = series.terms.get("continues") is not None
    return continues and has_had_run(session, series.id, State.AGREED)


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
