"""Which rows this machine has sealed, remembered as hashes: no cost can be read from them.

A hash is keyed with a secret that follows from the participant's signing key, so whoever has the
files without the key can test no guess. Whoever has the key too can test guesses of whole rows.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from tacit.agreement import Agreement, agreement_hash
from tacit.errors import FileError
from tacit.files import other_version
from tacit.identity import Keys
from tacit.participant.account.private_files import replace_private
from tacit.participant.account.profile import Profile

FORMAT: Literal["tacit-sealed-rows/1"] = "tacit-sealed-rows/1"


class SealedHashes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was sealed for one objective of an agreement."""

    format: Literal["tacit-sealed-rows/1"]
    secret: str
    """Which secret the hashes are keyed with, as a hash of its own: after a change of keys nothing
    can be compared."""
    seconds: int
    """When, in seconds since 1970."""
    rows: list[str]


@dataclass(frozen=True)
class SealedEarlier:
    """Rows that were sealed for one objective of an agreement that this machine signed."""

    run: str
    agreement: Agreement
    objective: int
    hashes: SealedHashes | None
    """None where somebody removed their file."""

    @property
    def name(self) -> tuple[str, int]:
        """What tells it from all others."""
        return agreement_hash(self.agreement).hex(), self.objective


def row_hashes(weights: NDArray[np.int64], scale: int, keys: Keys, /) -> list[str]:
    """One hash per row, whatever its name: of its costs themselves, not of how they are scaled.

    Nor of their order: a platform may list the same columns otherwise in another agreement.

    >>> keys = Keys.new("north")
    >>> a, b = row_hashes(np.array([[15, 20], [25, 15]]), 10, keys)
    >>> row_hashes(np.array([[200, 150]]), 100, keys) == [a], a == b
    (True, False)
    """
    secret = _secret(keys)
    hashes = []
    for row in weights:
        common = int(np.gcd.reduce(row, initial=scale))
        text = ",".join(str(int(each) // common) for each in (scale, *np.sort(row)))
        hashes.append(hmac.digest(secret, text.encode(), "sha256")[:16].hex())
    return hashes


def secret_name(keys: Keys, /) -> str:
    """Names the secret that hashes are keyed with, and tells nothing of it."""
    return hashlib.sha256(b"name" + _secret(keys)).hexdigest()[:16]


def _secret(keys: Keys) -> bytes:
    derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"tacit rows sealed before/1")
    return derive.derive(keys.signing.private_bytes_raw())


def keep_hashes(
    profile: Profile, run: str, objective: int, hashes: list[str], /, *, seconds: int
) -> None:
    """Remember what is about to be uploaded, beside what was uploaded before and refused."""
    path = profile.hashes_file(run, objective)
    name, before = secret_name(profile.keys()), load_hashes(profile, run, objective)
    if before is not None and before.secret == name:
        hashes = list(dict.fromkeys([*before.rows, *hashes]))
    replace_private(path, msgspec.json.encode(SealedHashes(FORMAT, name, seconds, hashes)))


def load_hashes(profile: Profile, run: str, objective: int, /) -> SealedHashes | None:
    """What is remembered of an objective's rows."""
    path = profile.hashes_file(run, objective)
    if not path.exists():
        return None
    data = path.read_bytes()
    try:
        return msgspec.json.decode(data, type=SealedHashes)
    except msgspec.DecodeError as error:
        what = other_version(data, FORMAT) or f"was changed ({error})"
        raise FileError(path, None, what, "restore or remove it") from None


def sealed_earlier(profile: Profile, /) -> Iterator[SealedEarlier]:
    """Everything that this machine has sealed, by run and objective."""
    for folder in sorted((profile.folder / "runs").glob("*")):
        run = folder.name
        agreement = profile.signed_agreement(run)
        if agreement is None:
            continue
        for k in agreement.confidential():
            hashes = load_hashes(profile, run, k)
            if hashes is not None or profile.manifests(run, k):
                yield SealedEarlier(run, agreement, k, hashes)
