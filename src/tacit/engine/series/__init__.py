"""A series: a standing agreement that is signed once, and what runs may be made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.engine.series.check import check_series, check_still_runs
    from tacit.engine.series.draft import draft_series
    from tacit.engine.series.run_record import (
        DAY,
        RunRecord,
        TakenRun,
        objection_to_pace,
        objection_to_run,
    )
    from tacit.engine.series.signed import SignedSeries, check_series_signed, sign_series
    from tacit.engine.series.terms import (
        Schedule,
        Series,
        SeriesLimits,
        SeriesNode,
        Varying,
        read_series,
        series_hash,
    )
    from tacit.engine.series.within import check_within, departures
else:
    __getattr__ = lazily(__name__)
