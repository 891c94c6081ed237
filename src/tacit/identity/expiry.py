"""When certificates expire, and who has to do something about it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cryptography import x509

from tacit.mpc.transport import split_certificates

WARN_DAYS = 30
DAY = 86400.0


def expires(pem: str, /) -> float:
    """When the certificate that is shown expires, in seconds since 1970."""
    first = split_certificates(pem)[0]
    return x509.load_pem_x509_certificate(first.encode()).not_valid_after_utc.timestamp()


def last_expires(pem: str, /) -> float:
    """When the last certificate expires that a party may show."""
    return max(expires(each) for each in split_certificates(pem))


def expiry_warnings(when: Mapping[str, float], now: float, /) -> dict[str, str]:
    """A sentence for each party whose certificate has expired or will within a month.

    >>> expiry_warnings({"node 1": 10 * DAY, "node 2": 0.0, "platform": 40 * DAY}, 0.0)["node 1"]
    'the certificate of node 1 expires in 10 days, on 1970-01-11; renew it with tacit keys rotate'
    """
    return {
        party: _sentence(party, at, now)
        for party, at in when.items()
        if at <= now + WARN_DAYS * DAY
    }


def _sentence(party: str, at: float, now: float) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(at))
    when = f"expires in {(at - now) / DAY:.0f} days, on {day}"
    if at <= now:
        when = f"has expired on {day}: nobody accepts it"
    return f"the certificate of {party} {when}; renew it with tacit keys rotate"
