"""The report of an audit, as an object and as JSON."""

from __future__ import annotations

import msgspec

from tacit.audit.score.measure import Score
from tacit.disclosure.leakage import Leakage


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

    >>> score = Measured(0.5, 0.9, 0.2, 97.0)
    >>> report = AuditReport("top:15", "value", "p", 1, 300, 0.5, 0.9, 0.2, 97.0, "pairwise",
    ...                      {"pairwise": score}, [], {})
    >>> report.to_json()[:23]
    b'{"disclosure":"top:15",'
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
