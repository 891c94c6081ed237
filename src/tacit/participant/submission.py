"""Seal a participant's rows, hand them in, and wait until nodes have checked them.

Weights are shared and sealed on this machine. They leave it only in sealed boxes.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, Manifest, agreement_hash, seal_rows
from tacit.client import PlatformClient, RunView, SubmittedRows
from tacit.errors import FileError, InputError, NotThereError, SealError, TrustError
from tacit.participant.costs import check_weights, read_costs
from tacit.participant.leakage_budget import keep_hashes, repeated, row_hashes
from tacit.participant.profile import Profile
from tacit.participant.receipts import fetch_receipts


class Submission(SubmittedRows, frozen=True, kw_only=True):
    """The state of the sealed rows for one objective."""

    earlier: bool = False
    """Whether this machine had handed it in before, so that nothing new was sealed now."""
    repeated: str | None = None
    """What adds up, where this machine had sealed some of the rows for other runs before."""
    receipts: int = 0
    """From how many nodes this machine has just kept a receipt."""
    unkept: str | None = None
    """Why this machine could keep no receipts, although the rows are handed in."""

    def words(self) -> str:
        """Say what was sent, and how far the nodes' check is."""
        why = f": {self.reason}" if self.reason else ""
        what = "sealed and handed in"
        if self.earlier:
            what = "nothing was sent, since rows are sealed once per agreement and yours are"
        return f"{what}; the nodes' check is {self.state}{why}"


def submit(
    profile: Profile,
    run: str,
    costs: Path | NDArray[np.int64],
    /,
    *,
    objective: str | None = None,
    again: bool = False,
) -> Submission:
    """Seal this participant's rows of an objective to the nodes, and upload the boxes.

    `costs` is a CSV, or the scaled weights themselves in the agreement's order of rows. They are
    sealed under the agreement that this machine signed; if the platform shows another, nothing is.
    Rows are sealed once per agreement: what was handed in before, and not refused, stays. Rows that
    were mostly sealed under other agreements before are sealed only `again`: what they give away
    adds up.
    """
    agreement = profile.need_signed_agreement(run)
    number = chosen_objective(agreement, profile.account, objective)
    if isinstance(costs, Path):
        weights = read_costs(costs, agreement, profile.account, number)
    else:
        weights = costs
        check_weights(weights, agreement, profile.account, number)
    with profile.connect() as client:
        _check_still_agreed(client, run, agreement)
        # If an earlier answer was lost, the boxes may be there already. They stay, and no new
        # shares are drawn.
        there = _already_there(client, profile, run, number)
        if there is not None:
            return _with_receipts(client, profile, run, there)
        before = repeated(profile, agreement, number, weights)
        if before is not None and not again:
            before.check()
        sealed = seal_rows(
            agreement,
            profile.account,
            number,
            weights,
            key=profile.keys().signing,
            version=profile.next_version(run, number),
        )
        # First kept, then sent: if the answer is lost, this machine still knows its own boxes and
        # does not take them for somebody else's.
        profile.keep_manifest(run, number, sealed.manifest)
        hashes = row_hashes(weights, agreement.objectives[number].scale, profile.keys())
        keep_hashes(profile, run, number, hashes, seconds=int(time.time()))
        held = client.runs.submit(
            run,
            number,
            manifest=sealed.manifest,
            signature=sealed.signature,
            boxes=sealed.boxes,
        )
        done = _with_receipts(client, profile, run, _here(held))
    note = None if before is None else before.words()
    return msgspec.structs.replace(done, repeated=note)


def _with_receipts(
    client: PlatformClient, profile: Profile, run: str, done: Submission
) -> Submission:
    try:
        return msgspec.structs.replace(done, receipts=fetch_receipts(profile, client, run))
    except (FileError, OSError) as error:
        # The rows are handed in: a full disk here must not make anybody seal them again.
        return msgspec.structs.replace(done, unkept=str(error))


def chosen_objective(agreement: Agreement, participant: str, name: str | None, /) -> int:
    """The number of an objective by its name; without one, the only one there is to seal."""
    own = {
        agreement.objectives[k].name: k
        for k in agreement.confidential()
        if agreement.rows_of(participant, k)
    }
    names = ", ".join(map(repr, own))
    if name is None:
        if len(own) == 1:
            return next(iter(own.values()))
        raise InputError(f"there are several objectives; say which with --objective: {names}")
    if name not in own:
        raise InputError(f"{participant!r} seals nothing for {name!r}; choose from {names}")
    return own[name]


def submissions(profile: Profile, run: str, /) -> list[SubmittedRows]:
    """Fetch the state of this participant's own sealed rows."""
    with profile.connect() as client:
        return client.runs.submissions(run)


def withdraw(profile: Profile, run: str, /, *, reason: str = "") -> RunView:
    """Leave a run before it starts, which ends it for everybody."""
    with profile.connect() as client:
        return client.runs.withdraw(run, reason=reason)


def _check_still_agreed(client: PlatformClient, run: str, agreement: Agreement) -> None:
    # Boxes sealed under what was signed would be of no use to nodes that have another agreement,
    # and the change itself is worth an alarm before any share leaves this machine.
    signed = agreement_hash(agreement).hex()
    shown = hashlib.sha256(client.runs.agreement(run)).hexdigest()
    if shown != signed:
        raise TrustError(
            f"the platform now shows another agreement for {run} ({shown[:16]}...) than the one "
            f"this machine signed ({signed[:16]}...); nothing was sealed or sent: ask the operator"
        )


def _already_there(
    client: PlatformClient, profile: Profile, run: str, number: int
) -> Submission | None:
    """Find rows that the platform holds for us already, unless the nodes refused them."""
    try:
        held = client.runs.submissions(run)
    except NotThereError:
        held = []
    for each in held:
        if each.objective != number or each.state in ("missing", "refused") or not each.boxes:
            continue
        own = [
            msgspec.json.decode(manifest, type=Manifest).boxes
            for manifest in profile.manifests(run, number)
        ]
        # Another machine of this participant sealed them, or somebody else has its key.
        if each.boxes not in own:
            raise TrustError(
                f"the platform holds rows of {profile.account!r} for {run} that this machine did "
                "not seal; if you did it on another one, all is well, else tell the others"
            )
        return msgspec.structs.replace(_here(each), earlier=True)
    return None


def _here(held: SubmittedRows) -> Submission:
    """Make a `Submission` of what the platform holds."""
    return Submission(**msgspec.structs.asdict(held))


def wait_for_check(
    profile: Profile, run: str, done: Submission, /, *, timeout: float | None = None
) -> Submission:
    """Wait until the nodes have checked one's sealed rows; a `SealError` if they refuse them."""
    checked: list[SubmittedRows] = []
    with profile.connect() as client:

        def is_checked(_seen: RunView) -> bool:
            own = [
                each for each in client.runs.submissions(run) if each.objective == done.objective
            ]
            checked[:] = [each for each in own if each.state in ("accepted", "refused")]
            return bool(checked)

        client.runs.wait(run, is_checked, timeout=timeout)
    (rows,) = checked
    if rows.state == "refused":
        why = rows.reason or "they give no reason"
        raise SealError(f"the nodes refuse your rows: {why}; correct them and submit again")
    return msgspec.structs.replace(done, state=rows.state, reason=rows.reason)


def wait_for_end(profile: Profile, run: str, /, *, timeout: float | None = None) -> RunView:
    with profile.connect() as client:
        return client.runs.wait_for_end(run, timeout=timeout)
