"""A series that continues another with other nodes, which have no balances before its first run."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tacit.engine.series import SignedSeries, moves, read_series
from tacit.service.storage import members_of_series, read_standing_series


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
