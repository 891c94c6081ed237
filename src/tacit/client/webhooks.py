"""Sign a webhook, and check that the platform sent it, and when.

Every call has the header `Tacit-Signature: t=SECONDS,v1=HEX`, where HEX is the HMAC-SHA256 of the
seconds, a dot and the body, under the webhook's secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from tacit.errors import TrustError

HEADER = "Tacit-Signature"
TOLERANCE_SECONDS = 300
_FORM = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})", re.ASCII)


def webhook_signature(secret: str, body: bytes, /, *, seconds: int) -> str:
    """The header of a call at this time."""
    return f"t={seconds},v1={_digest(secret, body, seconds)}"


def _digest(secret: str, body: bytes, seconds: int) -> str:
    # The time is signed with the body, or an old call could be sent again under a new time.
    return hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()


def check_webhook(
    secret: str, header: str, body: bytes, /, *, now: float, tolerance: int = TOLERANCE_SECONDS
) -> None:
    """Refuse a call that the platform did not make, or made long ago; pass `time.time()` as `now`.

    >>> header = webhook_signature("s", b"{}", seconds=1000)
    >>> check_webhook("s", header, b"{}", now=1010)
    >>> check_webhook("s", header, b"[]", now=1010)
    Traceback (most recent call last):
    tacit.errors.TrustError: the webhook is not signed with this secret; do not act on it
    >>> check_webhook("s", header, b"{}", now=2000)
    Traceback (most recent call last):
    tacit.errors.TrustError: the webhook was signed 1000 s ago, and may be an old one sent again
    """
    # In constant time: how long a comparison takes must not tell how much of a digest is right.
    form = _FORM.fullmatch(header)
    if form is None or not hmac.compare_digest(_digest(secret, body, int(form[1])), form[2]):
        raise TrustError("the webhook is not signed with this secret; do not act on it")
    age = now - int(form[1])
    # In both directions: clocks differ, and a time far ahead would allow a replay until then.
    if abs(age) > tolerance:
        raise TrustError(
            f"the webhook was signed {age:.0f} s ago, and may be an old one sent again"
        )
