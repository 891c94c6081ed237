"""Invitations as one file, with the address and the certificate of this platform in it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tacit.client import InvitationFile, certificate_to_pin
from tacit.identity import read_certificate
from tacit.service.access.invitations import invite
from tacit.service.server.settings import Settings
from tacit.service.storage import Account, read_member, read_run
from tacit.service.workflow.lifecycle import State, check_state

INVITED = frozenset(State) - {State.DRAFT, State.FINISHED, State.FAILED, State.CANCELLED}


def invitation_file(
    session: Session, settings: Settings, account: str, /, *, run: str | None = None
) -> InvitationFile:
    """A new one-time code for an account, in a file; its earlier codes end."""
    code, expires = invite(session, account, hours=settings.invitation_hours)
    return InvitationFile(
        url=settings.url,
        account=account,
        role=session.get_one(Account, account).role,
        code=code,
        expires=expires,
        certificate=_certificate(settings),
        run=run,
    )


def invite_to_run(
    session: Session, settings: Settings, run_id: str, name: str, /
) -> InvitationFile:
    """A new invitation for a participant of a run that is under way."""
    check_state(read_run(session, run_id).where, INVITED, to="hand out an invitation")
    read_member(session, run_id, name)
    return invitation_file(session, settings, name, run=run_id)


def _certificate(settings: Settings) -> str | None:
    """What participants pin; behind a proxy, the proxy's is not known here."""
    file = settings.certificate_to_pin
    return None if file is None else certificate_to_pin(read_certificate(file))
