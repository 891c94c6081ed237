"""Messages between coordinator, nodes and peers, and the hashes that name requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.engine.wire.attempt import NO_ATTEMPT, Attempt
    from tacit.engine.wire.recording_mux import sent_digest
    from tacit.engine.wire.replies import Allowed, RefusalKind
    from tacit.engine.wire.request import REVEAL_NUMBER, pack_candidates, plan_hash, request_hash
else:
    __getattr__ = lazily(__name__)
