"""The coordinator's side of an evaluation under an agreement, and of its record afterwards."""

from __future__ import annotations

from tacit.engine.agreement.terms import Agreement
from tacit.mpc import DisclosedValues, Front, Session, collect, collect_front, collect_pareto


async def collect_answer(
    session: Session, agreement: Agreement, objective: int, candidates: int, /
) -> DisclosedValues:
    """What the nodes disclose of so many candidates."""
    terms = agreement.objectives[objective]
    if terms.together:
        widths = agreement.pareto_widths(candidates)
        return await collect_pareto(session, spec=terms.spec, widths=widths)
    return await collect(
        session,
        candidates,
        spec=terms.spec,
        bound=agreement.fitness_bound(objective),
        best="value" if terms.spec.kind == "none" else terms.best,
    )


async def collect_revealed(session: Session, agreement: Agreement, candidates: int, /) -> Front:
    """What the final reveal discloses of so many candidates in several objectives."""
    widths = agreement.pareto_widths(candidates)
    return await collect_front(session, widths, values=agreement.front == "values")
