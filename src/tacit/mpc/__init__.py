"""Three-party replicated secret sharing: constant-round protocols for ranking secret fitness.

Three nodes hold shares of the fitness and disclose to the coordinator what was agreed, and nothing
else; one curious node learns nothing. A node runs `evaluate` inside a session, the coordinator runs
`collect`. Security model: semi-honest, honest majority; at most one node is
curious, with or without the platform.

>>> from tacit.mpc import FitnessBound, Spec, collect, evaluate
>>> from tacit.mpc.local import deal_integers, run_parties
>>> fitness = deal_integers([12, 7, 30])
>>> ask = {"spec": Spec.parse("top:1"), "bound": FitnessBound(0, 100), "best": "nothing"}
>>> run_parties(
...     lambda session: evaluate(session, fitness[session.me], **ask),
...     lambda session: collect(session, 3, **ask),
... ).coordinator.labels
array([0, 0, 1])
"""

from tacit.mpc.bound import FitnessBound, bits_needed, check_bound_fits
from tacit.mpc.cost import Cost
from tacit.mpc.disclose.coordinator import DisclosedValues, collect
from tacit.mpc.disclose.node import Evaluated, cost as evaluation_cost, evaluate
from tacit.mpc.epoch import Epoch, agree_epoch, open_session, refuse_session
from tacit.mpc.linear import gather_sum
from tacit.mpc.protocols.range_check import check_ranges
from tacit.mpc.protocols.same import check_same_components, check_same_data
from tacit.mpc.ring import from_ring, to_ring
from tacit.mpc.session import Context, Session
from tacit.mpc.shares import COORDINATOR, NODES, ArithmeticShare, BitShare, deal, reconstruct
from tacit.mpc.spec import Best, Spec

__all__ = [
    "COORDINATOR",
    "NODES",
    "ArithmeticShare",
    "Best",
    "BitShare",
    "Context",
    "Cost",
    "DisclosedValues",
    "Epoch",
    "Evaluated",
    "FitnessBound",
    "Session",
    "Spec",
    "agree_epoch",
    "bits_needed",
    "check_bound_fits",
    "check_ranges",
    "check_same_components",
    "check_same_data",
    "collect",
    "deal",
    "evaluate",
    "evaluation_cost",
    "from_ring",
    "gather_sum",
    "open_session",
    "reconstruct",
    "refuse_session",
    "to_ring",
]
