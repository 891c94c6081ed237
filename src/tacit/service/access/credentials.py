"""Codes and tokens: drawn with 256 random bits, kept as hashes alone.

So much randomness needs no slow hash and no salt. A prefix tells what it is, so that one that has
strayed into a log or a repository can be found, and so that our own logs can leave it out.
"""

from __future__ import annotations

import hashlib
import re
import secrets

TOKEN_PREFIX = "tct_"
CODE_PREFIX = "tci_"
SECRET_PATTERN = re.compile(r"\btc[ti]_[A-Za-z0-9_-]+")


def new_secret(prefix: str, /) -> str:
    """Draw a token or a code."""
    return prefix + secrets.token_urlsafe(32)


def secret_hash(secret: str, /) -> str:
    """How the database knows it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def without_secrets(text: str, /) -> str:
    """A text without the tokens and codes in it.

    >>> without_secrets("Bearer tct_abc-1 and tci_z")
    'Bearer [secret] and [secret]'
    """
    return SECRET_PATTERN.sub("[secret]", text)
