"""Runs of series that start by themselves, at their times.

A time that comes while a run of the series is still under way is left out, and so are times at
which the platform was not there: runs never pile up.
"""

from __future__ import annotations

import logging
import time

from sqlalchemy.orm import Session

from tacit.agreement import read_series
from tacit.client import NextRun
from tacit.errors import StorageError, TacitError
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, list_series, read_standing_series, runs_of_series
from tacit.service.storage.events import undone_with_its_events
from tacit.service.workflow.series import (
    add_run,
    begin_run,
    draw_up_series,
    next_terms,
    next_time,
    undrafted_series,
)
from tacit.supervisor import Supervisor

LOOK_EVERY_SECONDS = 1.0
log = logging.getLogger("tacit.service.execution")


def due_series(session: Session, now: float, /) -> list[str]:
    """The series whose next run is due, or whose expiry is."""
    series = list_series(session)
    return [each.id for each in series if each.next_at is not None and each.next_at <= now]


def _begin_next(session: Session, settings: Settings, series_id: str, now: float) -> str | None:
    """Set the time after this one, and begin the run that is due, in one transaction.

    Returns the run, or None where nothing begins: another process was first, the series has
    expired, or the run cannot begin. That is then not tried again every second.
    """
    series = read_standing_series(session, series_id, for_update=True)
    if series.next_at is None or series.next_at > now:
        return None
    made = read_series(series.data or b"")
    runs = made.schedule is not None and now < made.limits.expires and series.ended is None
    series.next_at = next_time(made.schedule, now) if runs and made.schedule else None
    if not runs:
        return None
    session.flush()
    try:
        with undone_with_its_events(session):
            return _next_run(session, settings, series_id)
    except StorageError:
        raise
    except TacitError as error:
        fields = {"series": series_id, "what": str(error)}
        log.warning("a run of a series is left out", extra={"fields": fields})
        return None


def _next_run(session: Session, settings: Settings, series_id: str) -> str:
    """Begin the draft that waits for its time, or a copy of the last run."""
    runs = runs_of_series(session, series_id)
    drafts = [run.id for run in runs if run.state == "draft"]
    by = read_standing_series(session, series_id).created_by
    if drafts:
        run_id = drafts[0]
    else:
        terms, _ = next_terms(session, series_id, NextRun())
        run_id = add_run(session, series_id, terms, by=by)
    begin_run(session, settings, run_id)
    return run_id


class SeriesClock:
    """The times of all series of one service."""

    def __init__(self, settings: Settings, database: Database, /) -> None:
        self._settings, self._database = settings, database
        self._said: set[str] = set()

    def start(self, tasks: Supervisor, /) -> None:
        """Look every second, for as long as the platform runs."""
        tasks.every(LOOK_EVERY_SECONDS, "schedule of series", lambda: self.look(time.time()))

    def _say_once(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            log.warning("a series is left as it is", extra={"fields": {"what": what}})

    async def look(self, now: float, /) -> list[str]:
        """Draw up series whose members have joined, and begin runs that are due; which those are.

        Any number of processes may look: what one has done, the others find done.
        """
        for series_id in await self._database.read(undrafted_series):
            try:
                await self._database.write(draw_up_series, self._settings, series_id)
            except StorageError:
                raise
            except TacitError as error:  # which is nothing that concerns other series
                self._say_once(f"series {series_id} cannot be drawn up: {error}")
        begun = []
        for series_id in await self._database.read(due_series, now):
            run_id = await self._database.write(_begin_next, self._settings, series_id, now)
            if run_id is not None:
                begun.append(run_id)
        return begun
