"""When the next run of a series starts by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tacit.series import Schedule


def next_time(schedule: Schedule, after: float, /) -> float:
    """The schedule's first time after this one; both in seconds since 1970.

    Minutes are counted from midnight UTC of 1970-01-01, so that a restart of the platform changes
    nothing, and times that were missed are not made up for.

    >>> next_time(Schedule(every_minutes=30), 1_000_000_000.0)
    1000000800.0
    >>> next_time(Schedule(at=["01:30", "02:00"]), 1_000_000_000.0)  # at 01:46:40
    1000000800.0
    >>> next_time(Schedule(at=["01:30"]), 1_000_000_000.0) - 1_000_000_000.0
    85400.0
    """
    if schedule.every_minutes:
        step = 60.0 * schedule.every_minutes
        return (after // step + 1) * step
    now = datetime.fromtimestamp(after, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    times = [
        today + timedelta(days=day, hours=int(text[:2]), minutes=int(text[3:]))
        for day in (0, 1)
        for text in schedule.at
    ]
    return min(each for each in times if each > now).timestamp()
