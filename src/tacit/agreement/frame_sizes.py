"""Whether all messages of an agreement fit a frame: checked when drafting, not during a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.errors import AgreementError
from tacit.mpc import ALL_PAIRS_LIMIT, key_bits
from tacit.mpc.transport import FRAME_LIMIT

if TYPE_CHECKING:
    from tacit.agreement.terms import Agreement

MOST_CANDIDATES = 1 << 20
"""No population is larger, whatever an agreement says."""
ROOM = FRAME_LIMIT - (1 << 16)
"""What is left beside the other fields of a message."""


def check_frame_sizes(agreement: Agreement, /) -> None:
    """Refuse an agreement with a message that could exceed the largest frame."""
    most, problem = agreement.limits.population_max, agreement.problem
    if most > MOST_CANDIDATES:
        raise AgreementError(
            f"populations of up to {most} candidates; nodes take {MOST_CANDIDATES}"
        )
    entries = most * agreement.known_problem.plan_length
    _check("a population", entries * (1 if problem.columns <= 256 else 2))
    for objective in agreement.confidential():
        for owner in agreement.objectives[objective].owners:
            # All components but one, of eight bytes per weight.
            size = 8 * (len(agreement.nodes) - 1) * len(owner.rows) * problem.columns
            _check(f"the box of {owner.participant!r}", size)
    for objective in agreement.evaluated():
        name = agreement.objectives[objective].name
        _check(f"an evaluation of {name!r}", largest_batch(agreement, objective))


def largest_batch(agreement: Agreement, objective: int) -> int:
    """Bytes of the largest message between nodes: one bit per bit of the largest comparison."""
    n, spec = agreement.limits.population_max, agreement.objectives[objective].spec
    if spec.kind == "none":
        return 8 * n
    if agreement.together:
        # All comparisons of one step; some go in messages of their own.
        widths = agreement.pareto_widths(n)
        kept = 2 * (widths.objectives - 1) * widths.dominance_bits
        opened = widths.first_bits + sum(key_bits(each, n) for each in widths.bounds[1:])
        return n * n // 2 * max(kept + opened, key_bits(widths.score_bound, n)) // 8 + 64 * n
    # Pivots need about n^(4/3) comparisons at a time, with luck fewer; twice that is safe.
    comparisons = n * n // 2 if n <= ALL_PAIRS_LIMIT else int(2 * float(n) ** (4 / 3))
    if spec.kind == "buckets":
        comparisons = max(comparisons, n * spec.parameter)
    bits = key_bits(agreement.fitness_bound(objective), n) + 8
    return max(comparisons * bits // 8, 16 * n)


def _check(what: str, size: int) -> None:
    if size > ROOM:
        raise AgreementError(
            f"{what} would take a message of {size >> 20} MB; {ROOM >> 20} MB fit: lower "
            "population_max or the number of buckets, or split the rows among more owners"
        )
