"""The series that a node has taken runs of: what was signed, and which runs there were.

::

    series/HASH/series.json   the series, canonical
    series/HASH/signatures    of all participants
    series/HASH/runs.jsonl    which runs were taken, and when

What a series allows per day is counted here, whatever the platform says and forgets. A folder stays
for as long as the series could have runs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from tacit.engine.agreement.terms import Agreement, agreement_hash
from tacit.engine.node.state.policy import refuse
from tacit.engine.series import (
    DAY,
    RunRecord,
    Series,
    SignedSeries,
    TakenRun,
    check_series,
    check_series_signed,
    check_still_runs,
    check_within,
    objection_to_run,
    read_series,
    series_hash,
)
from tacit.engine.wire.replies import RefusalKind
from tacit.files import remove_drafts, replace_secret

FOLDER = "series"


class KeptSeries:
    """The folder of all series."""

    def __init__(self, data: Path, /, *, most: int) -> None:
        self._folder, self._most = data / FOLDER, most
        self._folder.mkdir(exist_ok=True, mode=0o700)
        remove_drafts(self._folder)
        self._expires: dict[str, tuple[str, int]] = {}
        for path in self._folder.glob("*/series.json"):
            self._hold(read_series(path.read_bytes()))

    def _hold(self, series: Series) -> None:
        self._expires[series_hash(series)] = (series.platform, series.limits.expires)

    def _place(self, name: str) -> Path:
        return self._folder / name

    def examined(
        self, agreement: Agreement, carried: SignedSeries | None, /, *, now: float
    ) -> SignedSeries | None:
        """The series that a run names, signed by all, if the run is within it; none if none.

        What is here was checked when it came. It takes time, so it is done in a thread.
        """
        named = agreement.series
        if named is None:
            return None
        place = self._place(named.series)
        if (place / "series.json").exists():
            signatures = msgspec.msgpack.decode((place / "signatures").read_bytes())
            carried = SignedSeries((place / "series.json").read_bytes(), signatures)
        elif carried is None:
            raise refuse("the agreement names a series that is not known here; show it, signed")
        else:
            check_series_signed(carried)
        series = read_series(carried.data)
        if series_hash(series) != named.series:
            raise refuse("the agreement names another series than the one that is shown")
        check_series(series)
        check_still_runs(series, now)
        check_within(series, agreement, now=now)
        return carried

    def admit(self, agreement: Agreement, carried: SignedSeries, /, *, now: float) -> None:
        """Write down a run that is within its series, or refuse it: too soon, or not the next."""
        named = agreement.series
        assert named is not None
        series, place = read_series(carried.data), self._place(named.series)
        record = RunRecord(place / "runs.jsonl")
        new = TakenRun(named.number, agreement_hash(agreement).hex(), now)
        why = objection_to_run(record.runs(), new, runs_per_day=series.limits.runs_per_day)
        if why is not None:
            raise refuse(why)
        if named.series not in self._expires:
            self._check_room(series)
            place.mkdir(exist_ok=True, mode=0o700)
            replace_secret(place / "signatures", msgspec.msgpack.encode(dict(carried.signatures)))
            # Last, since a folder without it does not count.
            replace_secret(place / "series.json", carried.data)
            self._hold(series)
        record.add(new)

    def _check_room(self, series: Series) -> None:
        there = sum(platform == series.platform for platform, _ in self._expires.values())
        if there >= self._most:
            raise refuse(
                f"{there} series are kept for this platform already; wait until some have expired, "
                "or ask the operator of the node",
                kind=RefusalKind.FULL,
            )

    def lapse(self, now: float, /) -> None:
        """Remove what expired so long ago that no clock brings it back."""
        for name, (_, expires) in list(self._expires.items()):
            if now >= expires + 30 * DAY:
                del self._expires[name]
                shutil.rmtree(self._place(name), ignore_errors=True)
