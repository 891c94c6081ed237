"""Replicated secret sharing of three or four nodes: protocols that rank secret fitness.

Nodes hold shares of the fitness and disclose to the coordinator what was agreed, and nothing else.
One curious node, alone or together with the coordinator, learns nothing. With three nodes all
follow the protocol (semi-honest); with four, one may cheat and the others notice. A node runs
`evaluate` inside a session, the coordinator runs `collect`.

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
    from tacit.mpc.cost import Cost
    from tacit.mpc.disclose.dominance import ParetoWidths
    from tacit.mpc.disclose.evaluation import (
        ALL_PAIRS_LIMIT,
        DisclosedValues,
        Evaluated,
        collect,
        evaluate,
        read_answer,
    )
    from tacit.mpc.disclose.front import (
        Front,
        collect_front,
        reveal_front,
    )
    from tacit.mpc.disclose.pareto_score import collect_pareto, evaluate_pareto
    from tacit.mpc.disclose.spec import (
        Best,
        FitnessBound,
        Spec,
        check_bound_fits,
        key_bits,
    )
    from tacit.mpc.epoch import (
        Context,
        Epoch,
        SessionMux,
        agree_epoch,
        open_conversations,
        open_session,
        refuse_session,
    )
    from tacit.mpc.local import Substreams, receive_again
    from tacit.mpc.protocols.loss import Size, hand_over, left_without, share_without
    from tacit.mpc.protocols.opening import receive_opened
    from tacit.mpc.protocols.range_check import check_ranges
    from tacit.mpc.ring import RING_BITS, from_ring, public_word, to_ring
    from tacit.mpc.session import Session, SessionTerms, Wire
    from tacit.mpc.shares import (
        CLUSTER_SIZES,
        COORDINATOR,
        ArithmeticShare,
        BitShare,
        concatenate,
        deal,
        gather_sum,
        held_by,
        party_name,
        public_share,
        scale,
    )
    from tacit.mpc.signed_letters import (
        SIGNATURE_BYTES,
        Group,
        Statement,
    )
    from tacit.mpc.told import Told, is_told
else:
    __getattr__ = lazily(__name__)
