"""Messages between coordinator, nodes and peers, and the hashes that name requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.wire.attempt import NO_ATTEMPT, Attempt
    from tacit.wire.recording_mux import sent_digest
    from tacit.wire.replies import Allowed, RefusalKind
    from tacit.wire.request import REVEAL_NUMBER, pack_candidates, plan_hash, request_hash
else:
    __getattr__ = lazily(__name__)
