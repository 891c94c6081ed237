"""Take the options of a list from a request, and answer with a page and its cursor."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Query

from tacit.client import MOST_LISTED, Page
from tacit.errors import MalformedError

T = TypeVar("T")
R = TypeVar("R")
USUALLY_LISTED = 100
LONGEST_CURSOR = 400
After = Annotated[
    str | None,
    Query(max_length=LONGEST_CURSOR, description="`next` of the page before; without: the first."),
]
NO_NUL = r"^[^\x00]*$"
"""PostgreSQL has no text with that character, and raises an error."""
Name = Annotated[
    str | None, Query(max_length=200, pattern=NO_NUL, description="Only of this whole name.")
]
Limit = Annotated[int, Query(ge=1, le=MOST_LISTED, description="The most rows of a page.")]


def cursor_of(key: object, /) -> str:
    """Return the key of a page's last row as text that clients give back as they got it."""
    return urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def key_of(cursor: str | None, kind: type[T], /) -> T | None:
    """Return the key in a cursor, or None for the first page.

    >>> key_of(cursor_of("north"), str)
    'north'
    """
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return msgspec.json.decode(urlsafe_b64decode(padded), type=kind)
    except ValueError:  # which msgspec's errors are, too
        raise MalformedError(
            "`after` is no cursor of this list; give the `next` of a page as it came, or leave it "
            "out to begin at the first"
        ) from None


def page_of(
    found: Sequence[R],
    limit: int,
    /,
    *,
    shown: Callable[[Sequence[R]], list[T]],
    key: Callable[[R], Any],
) -> Page[T]:
    """Return a page of rows, of which one more was read than a page has."""
    rows = found[:limit]
    return Page(shown(rows), cursor_of(key(rows[-1])) if len(found) > limit else None)
