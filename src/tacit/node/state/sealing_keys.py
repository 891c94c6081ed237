"""A node's sealing keys: one per agreement, drawn when a platform asks, erased at its end.

A key lies in a file of its own from the offer on, so that a node which restarts still opens its
inputs. Until an agreement with its nonce comes, it is pending: a platform may have so many pending
keys, and those that nobody claims go after a while. A key is claimed once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.terms import Agreement
from tacit.files import erase, remove_drafts, replace_secret
from tacit.node.state.policy import refuse
from tacit.wire.replies import RefusalKind

PENDING_SECONDS = 30 * 86400.0
"""So long an offered key waits for its agreement; signing rarely takes that long."""

Owner = tuple[str, str]
"""The platform's certificate that the agreement names, and the agreement's nonce."""


class StoredSealingKey(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="stored", tag="sealing key/1"
):
    """A key on the disk."""

    platform: str
    nonce: str
    secret: bytes
    offered: float
    """When, in seconds since 1970."""


_READ = msgspec.msgpack.Decoder(StoredSealingKey)


def owner_of(agreement: Agreement, /) -> Owner:
    """Whose key an agreement's is."""
    return agreement.platform, agreement.nonce


class SealingKeys:
    """The folder of all sealing keys."""

    def __init__(self, folder: Path, /, *, most_pending: int) -> None:
        self._folder, self._most = folder, most_pending
        folder.mkdir(exist_ok=True, mode=0o700)
        remove_drafts(folder)
        self._pending: dict[Owner, StoredSealingKey] = {}
        for path in folder.iterdir():
            try:
                stored = _READ.decode(path.read_bytes())
            except msgspec.DecodeError:
                erase(path)  # the node ended while it was being erased
            else:
                self._pending[stored.platform, stored.nonce] = stored

    def _path(self, owner: Owner) -> Path:
        return self._folder / hashlib.sha256("\n".join(owner).encode()).hexdigest()[:32]

    def offer(self, owner: Owner, now: float, /) -> X25519PrivateKey:
        """The key for an agreement to come; asked again before it comes, the same."""
        stored = self._pending.get(owner)
        if stored is None:
            if self._path(owner).exists():
                raise refuse("the agreement with this nonce is here already; draw another nonce")
            platform, nonce = owner
            if sum(name == platform for name, _ in self._pending) >= self._most:
                raise refuse(
                    f"{self._most} keys are waiting for agreements of this platform already; hand "
                    "over agreements, or wait until older offers lapse",
                    kind=RefusalKind.FULL,
                )
            secret = X25519PrivateKey.generate().private_bytes_raw()
            stored = StoredSealingKey(platform, nonce, secret, now)
            replace_secret(self._path(owner), msgspec.msgpack.encode(stored))
            self._pending[owner] = stored
        return X25519PrivateKey.from_private_bytes(stored.secret)

    def pending(self, owner: Owner, /) -> X25519PrivateKey | None:
        """The key that was offered for an agreement which is not here yet."""
        stored = self._pending.get(owner)
        return None if stored is None else X25519PrivateKey.from_private_bytes(stored.secret)

    def claim(self, owner: Owner, /) -> None:
        """The agreement is here: nobody else gets this key, and it stays until the end."""
        self._pending.pop(owner, None)

    def erase(self, owner: Owner, /) -> None:
        """The agreement has ended."""
        self._pending.pop(owner, None)
        erase(self._path(owner))

    def lapse(self, now: float, /) -> None:
        """Erase what nobody claimed in time."""
        for owner, stored in list(self._pending.items()):
            if now >= stored.offered + PENDING_SECONDS:
                self.erase(owner)
