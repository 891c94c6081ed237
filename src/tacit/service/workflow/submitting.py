"""Take participants' signatures under the agreement, and their sealed rows."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy.orm import Session

from tacit.agreement import (
    agreement_hash,
    box_hash,
    is_signed,
    read_agreement,
    read_manifest,
)
from tacit.client import ENDS
from tacit.errors import NotThereError, SealError, ServiceError, WrongStateError
from tacit.service.storage import (
    Run,
    StoredBoxes,
    read_member,
    read_run,
    sealed_of,
    set_signature,
    set_state,
    store_sealed,
)
from tacit.service.storage.states import check_state
from tacit.service.workflow.inviting import waiting_for

# A box holds, for each weight, a word of each component but one; its rows' numbers, salts, a
# signature and the seal.
BYTES_PER_COMPONENT = 8
ROOM_PER_BOX = 4096
ROOM_PER_ROW = 5


def agreement_bytes(session: Session, run_id: str, /) -> tuple[bytes, str]:
    """Return the agreement as it is signed, and its hash."""
    run = read_run(session, run_id)
    if run.agreement is None or run.agreement_hash is None:
        if run.state == "draft":
            raise NotThereError("the run is a draft; its agreement is drawn up after invite")
        if run.state in ENDS:
            raise NotThereError("the run ended before its agreement was drawn up; there is none")
        missing = ", ".join(waiting_for(session, run_id)) or "the operator, see the warnings"
        raise NotThereError(f"there is no agreement yet; waiting for: {missing}")
    return run.agreement, run.agreement_hash


def check_signature(session: Session, run_id: str, participant: str, signature: bytes, /) -> str:
    """Check a signature, and return the hash of the agreement that it is under.

    This takes long for a long agreement, so it happens in a transaction that only reads, and
    `sign` then takes the hash.
    """
    run = read_run(session, run_id)
    data, digest = agreement_bytes(session, run_id)
    if _is_signed_already(session, run, participant, signature):
        return digest
    agreement = read_agreement(data)
    if agreement.limits.expires <= time.time():
        raise WrongStateError("the agreement has expired; ask the operator for a new run")
    key = agreement.participant(participant).signing_key
    if not is_signed(key, "agreement", agreement_hash(agreement), signature):
        raise _not_under_this()
    return digest


def sign(
    session: Session, run_id: str, participant: str, signature: bytes, /, *, digest: str
) -> bool:
    """Store a signature under the agreement with this hash; return whether all have signed now.

    The same signature again changes nothing, since a client that got no answer sends it again.
    """
    run = read_run(session, run_id, for_update=True)
    if _is_signed_already(session, run, participant, signature):
        return False
    if run.agreement_hash != digest:
        raise _not_under_this()  # it was drawn up again since `check_signature`
    if not set_signature(session, run_id, participant, signature):
        return False
    set_state(session, run_id, "agreed")
    return True


def _is_signed_already(session: Session, run: Run, participant: str, signature: bytes) -> bool:
    if read_member(session, run.id, participant).signature == signature:
        return True
    check_state(run.state, frozenset({"invited"}), to="sign")
    return False


def _not_under_this() -> ServiceError:
    return ServiceError(
        "this is not your signature under the agreement as it stands; fetch and review it again"
    )


def sealed_from(
    session: Session,
    run_id: str,
    participant: str,
    /,
    *,
    objective: int,
    manifest: bytes,
    signature: bytes,
    boxes: Sequence[bytes],
) -> StoredBoxes:
    """Return sealed rows, after checking all that can be seen from outside the boxes."""
    agreement = read_agreement(agreement_bytes(session, run_id)[0])
    named = read_manifest(agreement, manifest, signature)
    if named.participant != participant:
        raise SealError(f"the manifest is one of {named.participant!r}; seal rows of your own")
    if named.objective != objective:
        raise SealError(f"the manifest is for objective {named.objective}, not for {objective}")
    rows = len(agreement.rows_of(participant, objective))
    per_weight = BYTES_PER_COMPONENT * (len(agreement.nodes) - 1)
    most = per_weight * rows * agreement.problem.columns + ROOM_PER_ROW * rows + ROOM_PER_BOX
    # The size of a box follows from its rows. What is larger would only fill disks.
    if any(len(box) > most for box in boxes):
        raise SealError(f"a box is larger than {rows} rows need; seal your rows again")
    if [box_hash(box) for box in boxes] != named.boxes:
        raise SealError("the boxes are not those that the manifest names; seal your rows again")
    return StoredBoxes(
        run=run_id,
        participant=participant,
        objective=objective,
        manifest=manifest,
        signature=signature,
        **{f"box{node}": box for node, box in enumerate(boxes)},
    )


def submit(session: Session, rows: StoredBoxes, /) -> tuple[StoredBoxes, bool]:
    """Store sealed rows; return what is stored, and whether it is new.

    The same rows again change nothing. Other rows count only after the nodes have refused the
    first: nodes that were given different rows could not begin.
    """
    run = read_run(session, rows.run, for_update=True)
    for earlier in sealed_of(session, rows.run, rows.participant):
        if earlier.objective != rows.objective:
            continue
        if earlier.manifest == rows.manifest:
            return earlier, False
        if earlier.state != "refused":
            raise WrongStateError(
                "you have submitted other rows for this objective; withdraw, or wait until the "
                "nodes have checked them"
            )
    # After the comparison: a client that got no answer sends the same rows again, and by then the
    # run may have gone on.
    check_state(run.state, frozenset({"agreed"}), to="submit")
    store_sealed(session, rows)
    return rows, True
