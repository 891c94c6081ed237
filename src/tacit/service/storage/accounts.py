"""Queries about accounts."""

from __future__ import annotations

import time

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tacit.errors import WrongStateError
from tacit.service.storage.models import Account


def create_account(session: Session, name: str, role: str, /) -> Account:
    """Add an account; names that differ in case alone would be mixed up and are refused."""
    if session.scalar(select(Account).where(func.lower(Account.name) == name.lower())):
        raise WrongStateError(f"there is an account {name!r} already; choose another name")
    account = add_account(session, name, role)
    session.flush()
    return account


def add_account(session: Session, name: str, role: str, /) -> Account:
    """Add an account whose name has been checked."""
    account = Account(name=name, role=role, signing_key=None, created=time.time())
    session.add(account)
    return account


def find_account(session: Session, name: str, /) -> Account | None:
    """The account of this name."""
    return session.get(Account, name)


def list_accounts(session: Session, /) -> list[Account]:
    """All accounts by name."""
    return list(session.scalars(select(Account).order_by(Account.name)))
