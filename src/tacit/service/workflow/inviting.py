"""From a draft to an agreement: members are invited, join, and the text is drafted."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tacit.engine.agreement import agreement_hash, canonical
from tacit.errors import ServiceError, TacitError, WrongStateError
from tacit.service.access.invitations import (
    JoiningKey,
    accounts_with_open_invitation,
    new_invitation,
    redeem,
)
from tacit.service.access.tokens import issue_token
from tacit.service.api.terms import RunTerms
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Account,
    Run,
    add_account,
    add_event,
    add_members,
    add_warning,
    list_accounts,
    list_runs,
    members_with_keys,
    read_run,
    set_agreement,
    set_state,
)
from tacit.service.workflow.drafting import agreement_of_terms, cluster_identity
from tacit.service.workflow.lifecycle import State, check_state


def invite_members(
    session: Session, settings: Settings, run_id: str, cluster: str, /
) -> dict[str, str]:
    """Invite a draft's participants; returns the codes of those who are new."""
    run = read_run(session, run_id, for_update=True)
    check_state(run.where, frozenset({State.DRAFT}), to="invite")
    terms = RunTerms.model_validate(run.terms)
    accounts = _accounts(session, list(terms.participants))
    invited = accounts_with_open_invitation(session)
    codes = {
        account.name: new_invitation(session, account.name, hours=settings.invitation_hours)[0]
        for account in accounts
        if account.signing_key is None and account.name not in invited
    }
    add_members(session, run_id, terms.participants)
    run.cluster = cluster
    set_state(session, run_id, State.INVITED)
    _draft_if_all_joined(session, settings, run)
    return codes


def _accounts(session: Session, names: list[str]) -> list[Account]:
    """The participants' accounts; those who have none get one."""
    known = {account.name: account for account in list_accounts(session)}
    folded = {name.lower() for name in known}
    for name in names:
        if name in known and known[name].role != "participant":
            raise ServiceError(f"{name!r} is a {known[name].role}; only participants own rows")
        if name not in known and name.lower() in folded:
            raise ServiceError(f"an account differs from {name!r} in case alone; correct the name")
        if name not in known:
            known[name] = add_account(session, name, "participant")
    session.flush()
    return [known[name] for name in names]


def join(
    session: Session, settings: Settings, code: str, /, *, key: JoiningKey | None, label: str
) -> tuple[str, float, Account]:
    """Turn a code into a token; agreements that waited for this account are drafted.

    A key in an agreement that has not run yet stays: others may have signed.
    """
    account, has_new_key = redeem(session, code, key=key)
    if has_new_key:
        _key_is_known(session, settings, account)
    token, expires = issue_token(session, account.name, days=settings.token_days, label=label)
    return token, expires, account


def _key_is_known(session: Session, settings: Settings, account: Account) -> None:
    """Draft what waited for this key; what was drafted with an earlier one cannot change."""
    runs = list_runs(session, participant=account.name)
    for run in runs:
        if run.agreement_hash is not None and run.where in (State.INVITED, State.AGREED):
            raise WrongStateError(
                f"the agreement of {run.id} has your earlier signing key; join with that one, or "
                "ask the operator to cancel the run first"
            )
    for run in runs:
        add_event(session, run.id, "member", {"participant": account.name, "joined": True})
        if run.where is not State.INVITED:
            continue
        try:
            _draft_if_all_joined(session, settings, run)
        except TacitError as error:
            # Not the fault of whoever joins; the operator sees it on the run.
            add_warning(session, run.id, f"the agreement cannot be drawn up: {error}")


def waiting_for(session: Session, run_id: str, /) -> list[str]:
    """The members who have not joined yet."""
    return [member.participant for member, key in members_with_keys(session, run_id) if key is None]


def _draft_if_all_joined(session: Session, settings: Settings, run: Run) -> None:
    keys = {member.participant: key for member, key in members_with_keys(session, run.id)}
    known = {name: key for name, key in keys.items() if key is not None}
    if len(known) < len(keys) or run.cluster is None:
        return
    nodes, platform = cluster_identity(settings, run.cluster)
    agreement = agreement_of_terms(
        RunTerms.model_validate(run.terms), keys=known, nodes=nodes, platform=platform
    )
    set_agreement(session, run.id, canonical(agreement), agreement_hash(agreement).hex())
