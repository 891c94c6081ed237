"""A series of small assignments that two owners signed, and runs of it."""

from __future__ import annotations

import secrets
import time
from typing import Any

from msgspec.structs import replace

from tacit.agreement import (
    Series,
    SeriesLimits,
    SeriesNode,
    SignedSeries,
    Varying,
    draft_series,
    series_hash,
    sign_series,
)
from tacit.agreement.terms import Agreement, RunOfSeries, canonical
from tests.on_nodes.fixtures import Cast

RULES: dict[str, Any] = {
    "evaluations": 10,
    "population_min": 2,
    "population_max": 100,
    "distinct_min": 2,
    "run_hours": 1.0,
    "deadline_seconds": 60.0,
    "runs_per_day": 3,
}
VARYING: dict[str, Any] = {
    "parts": ["rows", "columns", "forbidden"],
    "least_rows": 2,
    "most_rows": 4,
    "least_columns": 2,
    "most_columns": 6,
    "least_allowed": 1,
    "most_mask_changes": 6,
    "least_participants": 1,
}


def series_like(pattern: Agreement, **changes: Any) -> Series:
    """A series of runs like this one."""
    limits = {**RULES, "expires": int(time.time()) + 86400 * 30, **changes.pop("limits", {})}
    return draft_series(
        pattern,
        name=changes.pop("name", "daily slots"),
        nodes=[SeriesNode(each.host, each.port, each.signing_key) for each in pattern.nodes],
        platform=pattern.platform,
        limits=SeriesLimits(**limits),
        varying=Varying(**{**VARYING, **changes.pop("varying", {})}),
        nonce=secrets.token_hex(16),
        **changes,
    )


def run_of(series: Series, pattern: Agreement, number: int = 1, **changes: Any) -> Agreement:
    """A run that is like the pattern, with its place in the series."""
    return replace(pattern, series=RunOfSeries(series_hash(series), number), **changes)


def signed_by(series: Series, cast: Cast) -> SignedSeries:
    """The series with the signatures of all its participants."""
    signatures = {name: sign_series(series, key) for name, key in cast.participants.items()}
    return SignedSeries(canonical(series), signatures)
