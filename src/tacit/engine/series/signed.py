"""A series with everybody's signatures: what nodes are shown before the first run of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.engine.agreement.signatures import check_all_signed, sign
from tacit.engine.agreement.size_limits import MOST_PARTICIPANTS, check_agreement_bytes
from tacit.engine.agreement.terms import ParticipantTerms
from tacit.engine.series.terms import Series
from tacit.errors import AgreementError


@dataclass(frozen=True)
class SignedSeries:
    """A series as it is carried: its canonical bytes and the signatures by participant."""

    data: bytes
    signatures: Mapping[str, bytes]


class _Parties(msgspec.Struct, frozen=True):
    """Of a series, who must have signed it; the rest is passed over."""

    participants: list[ParticipantTerms]


_READ_PARTIES = msgspec.json.Decoder(_Parties)


def sign_series(series: Series, key: Ed25519PrivateKey, /) -> bytes:
    """A participant's signature under a series; never one under an agreement."""
    return sign(key, "series", series.digest)


def check_series_signed(signed: SignedSeries, /) -> None:
    """Refuse a series that not all of its participants signed, before anything else is read."""
    check_agreement_bytes(len(signed.data))
    try:
        parties = _READ_PARTIES.decode(signed.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AgreementError(f"this is not a valid series ({error}); draw it up again") from None
    if not 1 <= len(parties.participants) <= MOST_PARTICIPANTS:
        raise AgreementError(
            f"the series names {len(parties.participants)} participants; nodes take 1 to "
            f"{MOST_PARTICIPANTS}"
        )
    digest = hashlib.sha256(signed.data).digest()
    check_all_signed(parties.participants, digest, signed.signatures, purpose="series")
