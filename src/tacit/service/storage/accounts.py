"""Queries about accounts."""

from __future__ import annotations

import time

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tacit.errors import WrongStateError
from tacit.service.storage.models import Account


def create_account(session: Session, name: str, role: str, /) -> Account:
    """Add an account; names that differ in case alone would be mixed up and are refused.

    >>> create_account.__name__
    'create_account'
    """
    if session.scalar(select(Account).where(func.lower(Account.name) == name.lower())):
        raise WrongStateError(f"there is an account {name!r} already; choose another name")
    account = add_account(session, name, role)
    session.flush()
    return account


def add_account(session: Session, name: str, role: str, /) -> Account:
    """Add an account whose name has been checked.

    >>> add_account.__name__
    'add_account'
    """
    account = Account(name=name, role=role, signing_key=None, created=time.time())
    session.add(account)
    return account


def find_account(session: Session, name: str, /) -> Account | None:
    """The account of this name.

    >>> find_account.__name__
    'find_account'
    """
    return session.get(Account, name)


def list_accounts(session: Session, /) -> list[Account]:
    """All accounts by name.

    >>> list_accounts.__name__
    'list_accounts'
    """
    return list(session.scalars(select(Account).order_by(Account.name)))
