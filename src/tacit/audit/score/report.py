"""The report of an audit, as an object and as JSON."""

from __future__ import annotations

import msgspec

from tacit.audit.score.measure import Score
from tacit.disclosure import Leakage


class Measured(Score, frozen=True):
    """An attack's score, and who could carry it out."""

    who: str = "platform"


class Growth(msgspec.Struct, frozen=True):
    """The strongest attack after this many evaluations."""

    evaluations: int
    measured: Measured


class AuditReport(msgspec.Struct, frozen=True):
    """The report on one run.

    The first figures are those of the strongest attack of a platform that follows the search.
    """

    disclosure: str
    best: str
    problem: str
    evaluations: int
    candidates: int
    correlation: float
    nrmse: float
    best_columns: float
    attacker_plan_quality: float
    strongest: str
    attacks: dict[str, Measured]
    growth: list[Growth]
    counts: dict[str, Leakage]

    def to_json(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)
