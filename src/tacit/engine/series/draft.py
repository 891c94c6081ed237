"""From an agreement about one run to a series of runs like it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tacit.engine.agreement.equity.terms import EquityTerms
from tacit.engine.agreement.terms import Agreement
from tacit.engine.series.check import check_series
from tacit.engine.series.terms import FORMAT, Schedule, Series, SeriesLimits, SeriesNode, Varying


def draft_series(
    pattern: Agreement,
    /,
    *,
    name: str,
    nodes: Sequence[SeriesNode],
    platform: str,
    limits: SeriesLimits,
    varying: Varying,
    nonce: str,
    schedule: Schedule | None = None,
    equity: EquityTerms | None = None,
) -> Series:
    """A series whose runs are like this agreement, ready to be signed.

    Of the agreement everything counts but its nodes, platform, limits and nonce: those of a series
    are given here, since its nodes have drawn no keys yet.
    """
    owners = next((each.owners for each in pattern.objectives if each.confidential), [])
    series = Series(
        format=FORMAT,
        name=name,
        problem=pattern.problem,
        owners=owners,
        participants=pattern.participants,
        nodes=list(nodes),
        platform=platform,
        objectives=[replace(each, owners=[], public_weights=None) for each in pattern.objectives],
        search=pattern.search,
        limits=limits,
        varying=varying,
        reveal_best=pattern.reveal_best,
        on_loss=pattern.on_loss,
        grace_seconds=pattern.grace_seconds,
        plan=pattern.plan,
        front=pattern.front,
        schedule=schedule,
        equity=equity,
        nonce=nonce,
    )
    check_series(series)
    return series
