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

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.bound import FitnessBound, check_bound_fits, key_bits
    from tacit.mpc.context import Context
    from tacit.mpc.cost import Cost
    from tacit.mpc.disclose.answer import DisclosedValues, read_answer
    from tacit.mpc.disclose.coordinator import collect
    from tacit.mpc.disclose.node import ALL_PAIRS_LIMIT, Evaluated, evaluate
    from tacit.mpc.epoch import (
        Epoch,
        SessionMux,
        agree_epoch,
        open_conversations,
        open_session,
        refuse_session,
    )
    from tacit.mpc.linear import gather_sum, scale
    from tacit.mpc.loss import left_without, share_without
    from tacit.mpc.pareto.disclosed import collect_pareto, evaluate_pareto
    from tacit.mpc.pareto.front import Front, collect_front, reveal_front
    from tacit.mpc.pareto.widths import ParetoWidths
    from tacit.mpc.protocols.handover import Size, hand_over
    from tacit.mpc.protocols.opening import receive_opened
    from tacit.mpc.protocols.range_check import check_ranges
    from tacit.mpc.recorded import Substreams, receive_again
    from tacit.mpc.ring import RING_BITS, from_ring, public_word, to_ring
    from tacit.mpc.session import Session
    from tacit.mpc.shares import (
        CLUSTER_SIZES,
        COORDINATOR,
        ArithmeticShare,
        BitShare,
        concatenate,
        deal,
        held_by,
        party_name,
        public_share,
    )
    from tacit.mpc.spec import Best, Spec
    from tacit.mpc.statements import SIGNATURE_BYTES, Group, Statement
    from tacit.mpc.wire import Wire
else:
    __getattr__ = lazily(__name__)
