"""Query accounts, and how they are notified."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from tacit.errors import NotThereError, WrongStateError
from tacit.names import by_skeleton, look_alike
from tacit.service.storage.models import (
    Account,
    Contact,
    Event,
    Notice,
    NoticeCursor,
    Webhook,
    new_id,
)


def create_account(session: Session, name: str, role: str, /) -> Account:
    """Add an account whose name looks like no other."""
    # Against all names, since no database knows which of them look alike.
    known = by_skeleton(session.scalars(select(Account.name)))
    if (other := look_alike(name, known)) is not None:
        what = "there is an" if other == name else f"{name!r} looks like the"
        already = " already" if other == name else ""
        raise WrongStateError(f"{what} account {other!r}{already}; choose another name")
    account = add_account(session, name, role)
    session.flush()
    return account


def add_account(session: Session, name: str, role: str, /) -> Account:
    """Add an account whose name has been checked."""
    account = Account(name=name, role=role, signing_key=None, created=time.time())
    session.add(account)
    return account


def find_account(session: Session, name: str, /) -> Account | None:
    return session.get(Account, name)


def list_accounts(session: Session, /) -> list[Account]:
    return list(session.scalars(select(Account).order_by(Account.name)))


TEST = "test"
"""The kind of a notice that an account sends to itself."""
MOST_WEBHOOKS = 5
"""The number of webhooks that one account may have."""
KEEP_SECONDS = 30 * 86_400.0
"""How long notices are kept that were delivered or given up."""


def contact_of(session: Session, account: str, /) -> str | None:
    found = session.get(Contact, account)
    return None if found is None else found.mail


def set_contact(session: Session, account: str, mail: str | None, /) -> None:
    """Set or forget an account's mail address."""
    session.execute(delete(Contact).where(Contact.account == account))
    if mail is not None:
        session.add(Contact(account=account, mail=mail))


def webhooks_of(session: Session, account: str, /) -> list[Webhook]:
    """An account's webhooks, the oldest first."""
    query = select(Webhook).where(Webhook.account == account).order_by(Webhook.created)
    return list(session.scalars(query))


def add_webhook(session: Session, account: str, url: str, /) -> Webhook:
    if len(webhooks_of(session, account)) >= MOST_WEBHOOKS:
        raise WrongStateError(f"you have {MOST_WEBHOOKS} webhooks already; remove one")
    webhook = Webhook(id=new_id("w"), account=account, url=url, created=time.time(), error=None)
    session.add(webhook)
    return webhook


def remove_webhook(session: Session, account: str, webhook: str, /) -> None:
    """Remove a webhook, with what was still to be delivered to it."""
    found = session.get(Webhook, webhook)
    if found is None or found.account != account:
        raise NotThereError("you have no such webhook; see your notifications")
    # They would be tried for days, at an address that their account wants nothing sent to.
    session.execute(delete(Notice).where(Notice.webhook == webhook))
    session.delete(found)


def forget_contacts(session: Session, account: str, /) -> None:
    for table in (Notice, Webhook, Contact):
        session.execute(delete(table).where(table.account == account))


def add_notice(
    session: Session, account: str, kind: str, at: float, data: dict[str, Any], /
) -> int:
    """Store a notice for each way to reach an account; return how many there are."""
    ways: list[str | None] = [each.id for each in webhooks_of(session, account)]
    if contact_of(session, account) is not None:
        ways.append(None)
    # One notice for each way, so that a failed delivery is repeated alone.
    for webhook in ways:
        session.add(
            Notice(
                account=account,
                webhook=webhook,
                kind=kind,
                at=at,
                data=data,
                attempts=0,
                next_at=time.time(),
            )
        )
    return len(ways)


def last_test(session: Session, account: str, /) -> list[Notice]:
    """The notices of an account's last test, those of webhooks that are gone left out."""
    mine = Notice.account == account, Notice.kind == TEST
    last = select(func.max(Notice.at)).where(*mine).scalar_subquery()
    query = select(Notice).where(*mine, Notice.at == last).order_by(Notice.id)
    return list(session.scalars(query))


def unread_events(session: Session, kinds: tuple[str, ...], /, *, limit: int) -> list[Event]:
    """Return the next events of these kinds that no notices were made of yet."""
    cursor = session.get_one(NoticeCursor, 1)
    query = select(Event).where(Event.id > cursor.event, Event.kind.in_(kinds))
    return list(session.scalars(query.order_by(Event.id).limit(limit)))


def lock_cursor(session: Session, /) -> None:
    """Let nobody else make notices until the transaction ends: each event has its notices once."""
    session.get_one(NoticeCursor, 1, with_for_update=True)


def events_are_read(session: Session, last: int, /) -> None:
    session.get_one(NoticeCursor, 1).event = last


def due_notices(session: Session, now: float, /, *, limit: int) -> list[Notice]:
    query = select(Notice).where(Notice.next_at <= now).order_by(Notice.next_at, Notice.id)
    # What another process claims at this moment is passed over.
    return list(session.scalars(query.limit(limit).with_for_update(skip_locked=True)))


def drop_old_notices(session: Session, now: float, /) -> None:
    """Delete what was delivered or given up long ago."""
    is_old = Notice.at < now - KEEP_SECONDS
    session.execute(delete(Notice).where(Notice.next_at.is_(None), is_old))
