"""How a draft comes to an agreement: members are invited, join, and the text is drawn up."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tacit.engine.agreement import agreement_hash, canonical
from tacit.errors import ServiceError, TacitError
from tacit.service.access.invitations import has_open_invitation, invite, redeem
from tacit.service.access.tokens import issue_token
from tacit.service.api.terms import RunTerms
from tacit.service.drafting import agreement_of_terms, trio_identity
from tacit.service.lifecycle import State, check_state
from tacit.service.settings import Settings
from tacit.service.storage import (
    Account,
    Run,
    add_event,
    add_members,
    add_warning,
    create_account,
    find_account,
    list_runs,
    members_of,
    read_run,
    set_agreement,
    set_state,
)


def invite_members(
    session: Session, settings: Settings, run_id: str, trio: str, /
) -> dict[str, str]:
    """Invite a draft's participants; the answer has the codes of those who are new here.

    >>> invite_members.__name__
    'invite_members'
    """
    run = read_run(session, run_id, for_update=True)
    check_state(run.where, frozenset({State.DRAFT}), to="invite")
    terms, codes = RunTerms.model_validate(run.terms), {}
    for name in terms.participants:
        account = find_account(session, name) or create_account(session, name, "participant")
        if account.role != "participant":
            raise ServiceError(f"{name!r} is a {account.role}; only participants own rows")
        if account.signing_key is None and not has_open_invitation(session, name):
            codes[name], _ = invite(session, name, hours=settings.invitation_hours)
    add_members(session, run_id, terms.participants)
    run.trio = trio
    set_state(session, run_id, State.INVITED)
    _draft_if_all_joined(session, settings, run)
    return codes


def join(
    session: Session, settings: Settings, code: str, /, *, signing_key: str | None, label: str
) -> tuple[str, float, Account]:
    """Turn a code into a token; agreements that waited for this account are drawn up.

    >>> join.__name__
    'join'
    """
    account, has_new_key = redeem(session, code, signing_key=signing_key)
    if has_new_key:
        _key_is_known(session, settings, account)
    token, expires = issue_token(session, account.name, days=settings.token_days, label=label)
    return token, expires, account


def _key_is_known(session: Session, settings: Settings, account: Account) -> None:
    """Draw up what waited for this key; a draft under an earlier key of the account is redrawn."""
    for run in list_runs(session, participant=account.name):
        add_event(session, run.id, "member", {"participant": account.name, "joined": True})
        if run.where is not State.INVITED:
            continue
        try:
            _draft_if_all_joined(session, settings, run)
        except TacitError as error:
            # Not the fault of whoever joins; the operator sees it on the run.
            add_warning(session, run.id, f"the agreement cannot be drawn up: {error}")


def waiting_for(session: Session, run_id: str, /) -> list[str]:
    """The members who have not joined yet.

    >>> waiting_for.__name__
    'waiting_for'
    """
    return [
        member.participant
        for member in members_of(session, run_id)
        if session.get_one(Account, member.participant).signing_key is None
    ]


def _draft_if_all_joined(session: Session, settings: Settings, run: Run) -> None:
    if waiting_for(session, run.id) or run.trio is None:
        return
    keys: dict[str, str] = {}
    for member in members_of(session, run.id):
        key = session.get_one(Account, member.participant).signing_key
        keys[member.participant] = key or ""
    nodes, platform = trio_identity(settings, run.trio)
    agreement = agreement_of_terms(
        RunTerms.model_validate(run.terms), keys=keys, nodes=nodes, platform=platform
    )
    set_agreement(session, run.id, canonical(agreement), agreement_hash(agreement).hex())
