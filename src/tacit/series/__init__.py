"""A series: a standing agreement that is signed once, and what runs may be made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.series.run_record import (
        DAY,
        RunRecord,
        TakenRun,
        objection_to_pace,
        objection_to_run,
    )
    from tacit.series.series_rules import (
        check_series,
        check_still_runs,
        check_within,
        departures,
        draft_series,
    )
    from tacit.series.series_terms import (
        Schedule,
        Series,
        SeriesLimits,
        SeriesNode,
        SignedSeries,
        Varying,
        check_series_signed,
        read_series,
        series_hash,
        sign_series,
    )
else:
    __getattr__ = lazily(__name__)
