"""The Pareto score as it is disclosed: labels of an order, and never a value.

The score goes the way of any fitness in `disclose`: index appended, a fresh secret order, ranks
opened, labels back to the coordinator. So node and coordinator, and the reading of the answer, are
those of a single objective. What needs values is refused: gaps between scores have no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import DisclosureError
from tacit.mpc.cost import Cost
from tacit.mpc.disclose import coordinator as disclosed
from tacit.mpc.disclose import node
from tacit.mpc.disclose.answer import DisclosedValues
from tacit.mpc.disclose.node import Evaluated
from tacit.mpc.pareto import score
from tacit.mpc.pareto.widths import ParetoWidths
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tacit.mpc.spec import Spec


def check_spec(spec: Spec) -> None:
    """Refuse what an order alone does not give.

    >>> check_spec(Spec.parse("buckets:5"))
    Traceback (most recent call last):
    tacit.errors.DisclosureError: buckets:5 depends on values, and a Pareto score has only an \
order; use order, quantiles:k or top:k
    """
    if spec.kind == "none" or spec.has_thresholds:
        raise DisclosureError(
            f"{spec} depends on values, and a Pareto score has only an order; use order, "
            "quantiles:k or top:k"
        )


async def evaluate_pareto(
    session: Session,
    fitness: Sequence[ArithmeticShare],
    *,
    spec: Spec,
    widths: ParetoWidths,
    told: bool = False,
) -> Evaluated:
    """A node's side of one evaluation in several objectives; the coordinator runs `collect_pareto`.

    >>> from tacit.mpc.bound import FitnessBound
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f, g = deal_integers([9, 4, 0, 3]), deal_integers([1, 2, 5, 2])
    >>> ask = {"spec": Spec.parse("order"), "widths": ParetoWidths([FitnessBound(0, 9)] * 2, 4)}
    >>> run_parties(
    ...     lambda s: evaluate_pareto(s, [f[s.me], g[s.me]], **ask),
    ...     lambda s: collect_pareto(s, **ask),
    ... ).coordinator.labels
    array([0, 2, 1, 3])
    """
    check_spec(spec)
    made = await score.pareto_score(session, fitness, widths)
    return await node.evaluate(
        session, made, spec=spec, bound=widths.score_bound, best="nothing", told=told
    )


async def collect_pareto(session: Session, *, spec: Spec, widths: ParetoWidths) -> DisclosedValues:
    """The coordinator's side; see `evaluate_pareto` for an example.

    >>> from tacit.mpc.bound import FitnessBound
    >>> ParetoWidths([FitnessBound(0, 9)] * 2, 4).candidates
    4
    """
    check_spec(spec)
    session.substreams(score.substreams_of(widths.objectives))  # the nodes' own, before the answer
    return await disclosed.collect(
        session, widths.candidates, spec=spec, bound=widths.score_bound, best="nothing"
    )


def cost(nodes: int, *, spec: Spec, widths: ParetoWidths, told: bool = False) -> Cost:
    """The cost of an evaluation, the delivery to the coordinator included.

    >>> from tacit.mpc.bound import FitnessBound
    >>> widths = ParetoWidths([FitnessBound(-100000, 0)] * 2, 300)
    >>> [cost(nodes, spec=Spec.parse("quantiles:20"), widths=widths).rounds for nodes in (3, 4)]
    [23, 28]
    """
    last = node.cost(
        nodes,
        widths.candidates,
        spec=spec,
        bound=widths.score_bound,
        best="nothing",
        told=told,
    )
    return score.cost(nodes, widths).then(last)
