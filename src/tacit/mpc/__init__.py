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

from tacit.mpc.bound import (
    FitnessBound as FitnessBound,
    bits_needed as bits_needed,
    check_bound_fits as check_bound_fits,
)
from tacit.mpc.cost import Cost as Cost
from tacit.mpc.disclose.coordinator import DisclosedValues as DisclosedValues, collect as collect
from tacit.mpc.disclose.node import (
    Evaluated as Evaluated,
    evaluate as evaluate,
)
from tacit.mpc.epoch import (
    Epoch as Epoch,
    agree_epoch as agree_epoch,
    open_session as open_session,
    refuse_session as refuse_session,
)
from tacit.mpc.linear import gather_sum as gather_sum
from tacit.mpc.protocols.range_check import check_ranges as check_ranges
from tacit.mpc.protocols.same import check_same_components as check_same_components
from tacit.mpc.ring import from_ring as from_ring, to_ring as to_ring
from tacit.mpc.session import Context as Context, Session as Session
from tacit.mpc.shares import (
    COORDINATOR as COORDINATOR,
    NODES as NODES,
    ArithmeticShare as ArithmeticShare,
    BitShare as BitShare,
    deal as deal,
    reconstruct as reconstruct,
)
from tacit.mpc.spec import Best as Best, Spec as Spec
