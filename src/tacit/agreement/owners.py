"""A plan for its owners only: which part of it each participant gets, and in boxes of what size."""

from __future__ import annotations

from tacit.agreement.frame_sizes import ROOM
from tacit.agreement.participant_keys import sealing_public
from tacit.agreement.terms import Agreement
from tacit.errors import AgreementError

NONCE_BYTES = 16
"""Of the nonce that keeps a component from being guessed from its commitment."""
HASH_BYTES = 32
_HEADER_BYTES = 512
"""More than everything in a box but its components and nonces takes."""


def rows_for(agreement: Agreement, participant: str, /) -> list[int]:
    """The rows of the plan that a participant gets: its own, or of ways between places all."""
    if agreement.known_problem.between_places:
        return list(range(agreement.problem.rows))
    owned = (agreement.rows_of(participant, k) for k in agreement.confidential())
    return sorted({row for rows in owned for row in rows})


def contents_size(agreement: Agreement, search: int, /) -> int:
    """Bytes in a box before it is sealed: one size, whoever it is for and whoever seals it."""
    most = max(len(rows_for(agreement, each.name)) for each in agreement.participants)
    word = agreement.sealed_run.group_of(search).word
    held = len(agreement.nodes) - 1
    return _HEADER_BYTES + held * (most * (word.itemsize + NONCE_BYTES) + HASH_BYTES)


def check_plan_for(agreement: Agreement, /) -> None:
    """Refuse a plan for its owners that cannot be kept from others, or sealed to them."""
    if not agreement.for_owners:
        if any(each.sealing_key for each in agreement.participants):
            raise AgreementError(
                "nothing is sealed to participants where everybody gets the plan; leave their "
                "sealing keys out"
            )
        return
    if not agreement.sealed:
        raise AgreementError(
            "only a sealed search can keep its plan for the owners: with other disclosures the "
            "platform finds it; take disclosure sealed, or plan everybody"
        )
    for each in agreement.participants:
        if each.sealing_key != sealing_public(each.signing_key):
            raise AgreementError(
                f"the sealing key of {each.name!r} is not that of its signing key; do not sign, "
                "and draft again"
            )
    for group in agreement.sealed_run.groups:
        hashes = (len(agreement.nodes) - 1) * agreement.problem.rows * HASH_BYTES
        size = len(agreement.participants) * contents_size(agreement, group.searches[0]) + hashes
        if size > ROOM:
            raise AgreementError(
                f"the boxes with the parts of the plan would take a message of {size >> 20} MB; "
                f"{ROOM >> 20} MB fit: take fewer participants, or give rows more evenly"
            )
