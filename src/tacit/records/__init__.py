"""Messages between coordinator and nodes, the nodes' logs, and the platform's ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.records.ballots import Poll, Subject, SubjectKind, contradicting, is_vote, read_vote
    from tacit.records.events import (
        BatchBegun,
        BuiltOnThree,
        EvaluationBegun,
        EvaluationRepeated,
        InputsFrozen,
        InputTaken,
        LogEvent,
        NodeLost,
        NodeNamed,
        NodeReturned,
        NumberAdopted,
        PlanDecided,
        PlanSealed,
        RequestFailed,
        RequestRefused,
        RevealBegun,
        RunCounted,
        Sent,
        StartDrawn,
        Voted,
    )
    from tacit.records.evidence import describe_suspects, read_evidence, suspects
    from tacit.records.ledger import (
        Disclosed,
        DisclosedBest,
        DisclosedFront,
        DisclosedLabels,
        DisclosedPlan,
        DisclosedProof,
        DisclosedToOwners,
        DisclosureKind,
        FileLedger,
        HeardBoxes,
        Keep,
        Ledger,
        Payload,
        PlanParts,
        decode_entry,
        encode_entry,
        in_words,
        load_ledger,
        parts_file,
        read_ledger,
        read_parts,
    )
    from tacit.records.log import (
        FIRST,
        FrozenInputs,
        Log,
        check_log,
        events_of,
        frozen_inputs,
        is_head_signed,
        is_of,
        line_hash,
        read_log,
        verify_log,
    )
    from tacit.records.messages import Allowed, End, RefusalKind
    from tacit.records.payload_parts import (
        OUTCOMES,
        FromParts,
        SealedPlan,
        payload_from_parts,
    )
    from tacit.records.recording_mux import sent_digest
    from tacit.records.requests import (
        NO_ATTEMPT,
        REVEAL_NUMBER,
        Attempt,
        pack_candidates,
        plan_hash,
        request_hash,
    )
else:
    __getattr__ = lazily(__name__)
