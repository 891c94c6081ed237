"""The numbers of a series' runs: they only grow, in the order in which runs begin."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tacit.service.storage import Run, StandingSeries, runs_of_series
from tacit.service.workflow.lifecycle import State


def next_number(session: Session, series: StandingSeries, /) -> int:
    """The first number that no run has."""
    runs = runs_of_series(session, series.id)
    return 1 + max((run.series_number or 0 for run in runs), default=0)


def name_of_run(series: StandingSeries, number: int, /) -> str:
    """What a run is called that nobody has given a name."""
    return f"{series.name} {number}"[-200:]


def renumber(session: Session, series: StandingSeries, draft: Run, /) -> None:
    """Give a draft another number if runs after it have begun: nobody would sign its own."""
    begun = [
        run.series_number or 0
        for run in runs_of_series(session, series.id)
        if run.where is not State.DRAFT
    ]
    if draft.series_number is None or draft.series_number > max(begun, default=0):
        return
    number = next_number(session, series)
    if draft.name == name_of_run(series, draft.series_number):
        draft.name = name_of_run(series, number)
        draft.terms = {**draft.terms, "name": draft.name}
    draft.series_number = number
    session.flush()
