"""Invite participants, let them join, and draw up and store the agreement between them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from tacit.agreement import (
    Agreement,
    NodeTerms,
    Series,
    agreement_hash,
    canonical,
    read_series,
    series_hash,
    weights_bytes,
)
from tacit.client import InvitationFile, RunState, RunTerms, certificate_to_pin
from tacit.equity import FIRST_HEAD
from tacit.errors import ServiceError, WrongStateError
from tacit.identity import read_certificate
from tacit.names import by_skeleton, look_alike
from tacit.service.access.credentials import (
    JoiningKey,
    accounts_with_open_invitation,
    invite,
    issue_token,
    new_invitation,
    own_addresses,
    redeem,
)
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Account,
    add_account,
    add_event,
    add_members,
    list_accounts,
    list_series,
    members_with_keys,
    read_member,
    read_run,
    read_standing_series,
    runs_in_state,
    set_agreement,
    set_state,
)
from tacit.service.storage.states import check_state
from tacit.service.workflow.drafting import (
    AgreementParties,
    agreement_in_series,
    agreement_of_terms,
    placeholder_parties,
    series_on_placeholders,
)


def invite_members(
    session: Session, settings: Settings, run_id: str, cluster: str, /
) -> dict[str, str]:
    """Invite a draft's participants; returns the codes of those who are new."""
    run = read_run(session, run_id, for_update=True)
    check_state(run.state, frozenset({"draft"}), to="invite")
    accounts = accounts_of(session, list(run.terms.participants))
    # Whoever has an open invitation keeps it: a new one would end the file that was handed out.
    invited = accounts_with_open_invitation(session)
    codes = {
        account.name: new_invitation(session, account.name, hours=settings.invitation_hours)[0]
        for account in accounts
        if account.signing_key is None and account.name not in invited
    }
    add_members(session, run_id, run.terms.participants)
    run.cluster = cluster
    set_state(session, run_id, "invited")
    return codes


def accounts_of(session: Session, names: list[str], /) -> list[Account]:
    """The participants' accounts; those who have none get one."""
    known = {account.name: account for account in list_accounts(session)}
    seen = by_skeleton(known)
    for name in names:
        if name in known and known[name].role != "participant":
            raise ServiceError(f"{name!r} is a {known[name].role}; only participants own rows")
        if name not in known:
            # The terms have been checked: of their own participants no two look alike.
            if (other := look_alike(name, seen)) is not None:
                raise ServiceError(f"{name!r} looks like the account {other!r}; correct the name")
            known[name] = add_account(session, name, "participant")
    session.flush()
    return [known[name] for name in names]


def join(
    session: Session, settings: Settings, code: str, /, *, key: JoiningKey | None, label: str
) -> tuple[str, float, Account]:
    """Turn a code into a token; return it with its expiry and the account."""
    account, has_new_key = redeem(session, code, key=key, here=own_addresses(settings))
    if has_new_key:
        _announce_key(session, account)
    token, expires = issue_token(session, account.name, days=settings.token_days, label=label)
    return token, expires, account


def _announce_key(session: Session, account: Account) -> None:
    """Add events to the account's runs; refuse the key where an agreement has an earlier one.

    Others may have signed that agreement already, so it cannot be changed.
    """
    # Nobody waits any more for somebody to join a run that has ended.
    runs = runs_in_state(session, INVITED, participant=account.name)
    for run in runs:
        if run.agreement_hash is not None and run.state in ("invited", "agreed"):
            raise WrongStateError(
                f"the agreement of {run.id} has your earlier signing key; join with that one, or "
                "ask the operator to cancel the run first"
            )
    for series in list_series(session, participant=account.name):
        if series.data is not None and series.ended is None:
            raise WrongStateError(
                f"the series {series.id} has your earlier signing key; join with that one, or ask "
                "the operator to end the series first"
            )
    for run in runs:
        add_event(session, run.id, "member", {"participant": account.name, "joined": True})


def waiting_for(session: Session, run_id: str, /) -> list[str]:
    """Name the members who have not joined yet."""
    return [member.participant for member, key in members_with_keys(session, run_id) if key is None]


@dataclass(frozen=True)
class Undrafted:
    """A run whose members have all joined, with everything that its agreement depends on."""

    terms: RunTerms
    keys: dict[str, str]
    cluster: str
    nonce: str
    series: tuple[Series, int] | None = None
    """The series that it is a run of, and its number there."""

    @property
    def counted_series(self) -> str | None:
        """The hash of its series, where balances count: nodes tell which runs it follows."""
        if self.series is None or self.series[0].equity is None:
            return None
        return series_hash(self.series[0])


def begin_draft(session: Session, run_id: str, /) -> Undrafted | None:
    """Return the same as `ready_to_draft`; the run has its nonce in the database then.

    One for all attempts: nodes draw a key per nonce, and each takes a place at them.
    """
    run = read_run(session, run_id, for_update=True)
    if ready_to_draft(session, run_id) is None:
        return None
    if run.nonce is None:
        run.nonce = secrets.token_hex(16)
    return ready_to_draft(session, run_id)


def ready_to_draft(session: Session, run_id: str, /) -> Undrafted | None:
    """Return what an agreement is drawn up from, or None while it cannot be."""
    run = read_run(session, run_id)
    if run.state != "invited" or run.agreement is not None or run.cluster is None:
        return None
    keys = {member.participant: key for member, key in members_with_keys(session, run_id)}
    known = {name: key for name, key in keys.items() if key is not None}
    if len(known) < len(keys):
        return None
    series = None
    if run.series is not None and run.series_number is not None:
        data = read_standing_series(session, run.series).data or b""
        series = (read_series(data), run.series_number)
    return Undrafted(run.terms, known, run.cluster, run.nonce or "", series)


def drafted(
    ready: Undrafted,
    /,
    *,
    nodes: Sequence[NodeTerms],
    platform: str,
    delay: float = 0.0,
    head: str = FIRST_HEAD,
) -> Agreement:
    """Draw up the agreement of a run, within its series if it has one."""
    parties = AgreementParties(ready.keys, nodes, platform, ready.nonce, delay)
    if ready.series is None:
        return agreement_of_terms(ready.terms, parties)
    return agreement_in_series(ready.terms, *ready.series, parties, head=head)


TEXT_MARGIN = 4096
"""Bytes by which an agreement may be longer than on placeholders: names and ports of its nodes."""


def room_for(ready: Undrafted, /, *, nodes: int) -> tuple[int, int]:
    """Return the bytes of a run's agreement, at most, and of its rows at each node.

    The agreement is drafted on placeholders, so a run that cannot be drafted takes no key.
    """
    parties = placeholder_parties(ready.keys, nodes=nodes)
    if ready.series is None:
        agreement = agreement_of_terms(ready.terms, parties)
    else:
        series, number = ready.series
        on_placeholders = series_on_placeholders(series, parties)
        agreement = agreement_in_series(ready.terms, on_placeholders, number, parties)
    return len(canonical(agreement)) + TEXT_MARGIN, weights_bytes(agreement)


def undrafted_runs(session: Session, participant: str | None = None, /) -> list[str]:
    """The runs, all or a participant's, whose agreement can be drawn up now."""
    runs = runs_in_state(session, ("invited",), participant=participant)
    return [run.id for run in runs if ready_to_draft(session, run.id) is not None]


def keep_draft(session: Session, run_id: str, agreement: Agreement, /) -> bool:
    """Store an agreement for its participants to sign; False if it does not fit any more."""
    # Drawing it up took as long as the nodes needed to answer. Meanwhile somebody may have joined
    # with another key, the run may be cancelled, or another attempt may have stored an agreement.
    read_run(session, run_id, for_update=True)
    ready = ready_to_draft(session, run_id)
    keys = {each.name: each.signing_key for each in agreement.participants}
    if ready is None or ready.keys != keys:
        return False
    set_agreement(session, run_id, canonical(agreement), agreement_hash(agreement).hex())
    return True


INVITED: frozenset[RunState] = frozenset(
    {"invited", "agreed", "submitted", "running", "interrupted"}
)


def invitation_file(
    session: Session, settings: Settings, account: str, /, *, run: str | None = None
) -> InvitationFile:
    """A new one-time code for an account, in a file; its earlier codes end."""
    code, expires = invite(session, account, hours=settings.invitation_hours)
    file = settings.certificate_to_pin  # None behind a proxy, whose certificate is not known here
    return InvitationFile(
        url=settings.url,
        account=account,
        role=session.get_one(Account, account).role,
        code=code,
        expires=expires,
        certificate=None if file is None else certificate_to_pin(read_certificate(file)),
        run=run,
    )


def invite_to_run(
    session: Session, settings: Settings, run_id: str, name: str, /
) -> InvitationFile:
    """A new invitation for a participant of a run that is under way."""
    check_state(read_run(session, run_id).state, INVITED, to="hand out an invitation")
    read_member(session, run_id, name)
    return invitation_file(session, settings, name, run=run_id)
