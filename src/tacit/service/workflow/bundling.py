"""Audit bundles of runs that have ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from sqlalchemy.orm import Session

from tacit.client import CarriedLogs
from tacit.files import replace_file
from tacit.service.api.answers import run_result
from tacit.service.storage import members_of, read_run
from tacit.service.workflow.lifecycle import ENDS, State, check_state
from tacit.service.workflow.submitting import agreement_bytes
from tacit.service.workflow.terms import public_weights, stored_terms
from tacit.verify import Bundle, BundledManifest, LogSignature, write_bundle

KEPT = "audit.zip"
SETTLED_SECONDS = 60.0
"""So long after its end nodes may still write down what was under way."""


@dataclass(frozen=True)
class Ended:
    """A run that has ended, as its bundle needs it."""

    run: str
    state: State
    ended: float
    agreement: bytes
    signatures: dict[str, str]
    result: bytes
    public: dict[int, list[list[int]]]

    @property
    def is_settled(self) -> bool:
        """Whether nothing of it changes any more, so that its bundle can be kept."""
        is_over = self.state is not State.INTERRUPTED
        return is_over and time.time() > self.ended + SETTLED_SECONDS


def ended_run(session: Session, run_id: str, /) -> Ended:
    """A run that has ended and has an agreement, or an error that says why there is no bundle."""
    run = read_run(session, run_id)
    check_state(run.where, ENDS, to="be bundled")
    data, _ = agreement_bytes(session, run_id)
    weights = public_weights(stored_terms(run.terms))
    signed = {each.participant: each.signature for each in members_of(session, run_id)}
    return Ended(
        run=run_id,
        state=run.where,
        ended=run.ended or 0.0,
        agreement=data,
        signatures={name: each.hex() for name, each in signed.items() if each is not None},
        result=msgspec.json.encode(run_result(run)),
        public={k: each.tolist() for k, each in weights.items()},
    )


def kept_bundle(folder: Path, ended: Ended, /) -> bytes | None:
    """The bundle that was made before, if nothing has changed since."""
    path = folder / KEPT
    return path.read_bytes() if ended.is_settled and path.exists() else None


def make_bundle(folder: Path, ended: Ended, logs: CarriedLogs, ledger: Sequence[bytes], /) -> bytes:
    """Pack a bundle, and keep it where nothing changes any more: two downloads are the same."""
    bundle = Bundle(
        run=ended.run,
        state=ended.state.value,
        agreement=ended.agreement,
        signatures=ended.signatures,
        logs={each.node: each.log for each in logs.logs},
        log_signatures=[
            LogSignature(each.node, each.seconds, each.signature) for each in logs.logs
        ],
        manifests=[
            BundledManifest(each.participant, each.objective, each.manifest, each.signature)
            for each in logs.manifests
        ],
        ledger=b"".join(ledger),
        result=ended.result,
        public=ended.public,
    )
    data = write_bundle(bundle)
    if ended.is_settled:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / KEPT, data)
    return data
