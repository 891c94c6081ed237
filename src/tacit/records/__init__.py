"""What is written down: nodes' logs, the coordinator's ledger, signed receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.records.disclosed import (
        Disclosed,
        DisclosedBest,
        DisclosedFront,
        DisclosedLabels,
        DisclosedPlan,
        DisclosedProof,
        DisclosedToOwners,
        HeardBoxes,
        Kind,
        Payload,
        in_words,
    )
    from tacit.records.events import (
        BatchBegun,
        BuiltOnThree,
        EvaluationBegun,
        EvaluationRepeated,
        Event,
        InputTaken,
        NodeLost,
        NodeNamed,
        NodeReturned,
        NumberAdopted,
        PlanBound,
        PlanSealed,
        RequestFailed,
        RequestRefused,
        RevealBegun,
        RunCounted,
        Sent,
    )
    from tacit.records.evidence import describe_suspects, read_evidence, suspects
    from tacit.records.freezing import FrozenInputs, frozen_inputs
    from tacit.records.ledger import (
        FileLedger,
        Ledger,
        decode_entry,
        encode_entry,
        load_ledger,
        read_ledger,
    )
    from tacit.records.log_chain import (
        FIRST,
        Log,
        events_of,
        line_hash,
        read_log,
        verify_log,
    )
    from tacit.records.node_log import check_log, is_head_signed, is_of
    from tacit.records.payload_parts import (
        OUTCOMES,
        FromParts,
        SealedPlan,
        payload_from_parts,
    )
    from tacit.records.plan_parts import PlanParts
else:
    __getattr__ = lazily(__name__)
