"""What several agreements about the same costs are expected to give away together.

No study has measured such sums. They are estimated: candidates that may be asked about under all of
the agreements are counted as if one run asked about them, under that disclosure of theirs which
tells most. That is too much where the costs of others change from run to run, and too little
where different disclosures complete each other, or where plans of several sealed searches do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from tacit.audit.expected.explanation import expected_in
from tacit.audit.expected.table import OPEN_ONLY_A_PLAN, Expected
from tacit.disclosure import SEALED

if TYPE_CHECKING:
    from tacit.agreement import Agreement


@dataclass(frozen=True)
class Together:
    """The sum over agreements; figures are as in `Expected`, from 0 (nothing) to 1 (everything)."""

    agreements: int
    evaluations: dict[str, int]
    """Per disclosure, how many evaluations they allow."""
    plans: int
    """Of sealed searches, which open a plan each."""
    counted_as: str
    """The disclosure under which all of them are counted."""
    alone: float
    """The figure for the first agreement by itself."""
    estimate: float
    structured: float | None
    """The same if the costs follow a structure that is known, where that was measured."""
    beyond: bool
    """Whether there are more candidates than in any measurement: it may be more."""


def expected_together(terms: Sequence[tuple[Agreement, int]], /) -> Together:
    """The sum for one objective of each agreement, of which the first gives the problem's shape."""
    allowed: dict[str, int] = {}
    candidates = plans = 0
    for agreement, objective in terms:
        disclosure, limits = agreement.objectives[objective].disclosure, agreement.limits
        if disclosure in OPEN_ONLY_A_PLAN:
            searched = agreement.search.algorithm == SEALED
            opened = agreement.sealed_plans if searched else 1
            plans += 0 if agreement.for_owners else opened
            continue
        allowed[disclosure] = allowed.get(disclosure, 0) + limits.evaluations
        candidates += limits.evaluations * limits.population_max
    first, objective = terms[0]
    # A sealed first agreement limits its generations, not candidates.
    size = max(each.limits.population_max for each, _ in terms)
    evaluations = max(1, ceil(candidates / size))
    kinds = [*allowed] or [first.objectives[objective].disclosure]
    found = {
        name: expected_in(
            first, objective, disclosure=name, evaluations=evaluations, population=size
        )
        for name in kinds
    }
    most = max(found, key=lambda name: _figure(found[name]))
    structured = found[most].structured
    return Together(
        agreements=len(terms),
        evaluations=allowed,
        plans=plans,
        counted_as=most,
        alone=0.0 if first.for_owners else _figure(expected_in(first, objective)),
        estimate=_figure(found[most]) if allowed or plans else 0.0,
        structured=None if structured is None else structured.correlation,
        beyond=found[most].beyond,
    )


def _figure(expected: Expected) -> float:
    """What a platform that keeps to the search learns; where much is known before, what it adds."""
    return expected.honest.gain if expected.prior_alone else expected.honest.correlation
