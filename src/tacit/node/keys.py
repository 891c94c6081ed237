"""Keep a node's own keys: to sign with, and one sealing key per agreement, erased at its end.

A sealing key is drawn when a platform requests it, and lies in a file of its own from then on: a
node that restarts can still open its inputs. Until an agreement with its nonce comes, it is
pending, and keeps room for that agreement. Those that nobody claims are erased when the platform
gives them back, or after a while. A key is claimed once, so it opens the inputs of one agreement
alone. A file of zeros in place of a key says that its agreement has ended.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.signatures import sign_offer
from tacit.agreement.terms import Agreement
from tacit.files import erase, overwrite, remove_drafts, replace_secret
from tacit.identity.config import NodeConfig
from tacit.identity.keys import Keyring
from tacit.node.policy import refuse
from tacit.supervisor import try_all

PENDING_SECONDS = 30 * 86400.0
"""How long an offered key waits for its agreement; signing rarely takes that long."""

Owner = tuple[str, str]
"""The platform's certificate that the agreement names, and the agreement's nonce."""


def sealing_key_name(owner: Owner, /) -> str:
    """The name of the file of an agreement's sealing key."""
    return hashlib.sha256("\n".join(owner).encode()).hexdigest()[:32]


class StoredSealingKey(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="stored", tag="sealing key/1"
):
    """A key on the disk."""

    platform: str
    nonce: str
    secret: bytes
    offered: float
    """When, in seconds since 1970."""
    text: int = 0
    rows: int = 0
    """The room in bytes that is kept for the agreement to come: for its text, and for its rows."""


_READ = msgspec.msgpack.Decoder(StoredSealingKey)


def stored_keys(folder: Path, /) -> Iterator[tuple[Path, StoredSealingKey | None]]:
    """All files of sealing keys, each with its key; None where there is no key in it."""
    for path in sorted(folder.glob("[!.]*")):
        try:
            yield path, _READ.decode(path.read_bytes())
        except msgspec.DecodeError:
            yield path, None


def owner_of(agreement: Agreement, /) -> Owner:
    return agreement.platform, agreement.nonce


class SealingKeys:
    """The folder of all sealing keys."""

    def __init__(self, folder: Path, /) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True, mode=0o700)
        remove_drafts(folder)
        self._pending: dict[Owner, StoredSealingKey] = {}
        self._overwritten: set[Path] = set()
        for path, stored in stored_keys(folder):
            if stored is None:
                self._overwritten.add(path)
            else:
                self._pending[stored.platform, stored.nonce] = stored

    def _path(self, owner: Owner) -> Path:
        return self._folder / sealing_key_name(owner)

    def offer(
        self, owner: Owner, now: float, /, *, text: int = 0, rows: int = 0
    ) -> X25519PrivateKey:
        """The key for an agreement to come; the same until it has come."""
        stored = self._pending.get(owner)
        if stored is None:
            if self._path(owner).exists():
                raise refuse("the agreement with this nonce is here already; draw another nonce")
            platform, nonce = owner
            secret = X25519PrivateKey.generate().private_bytes_raw()
            stored = StoredSealingKey(platform, nonce, secret, now, text, rows)
            # On the disk before it is offered: participants will seal their rows to it.
            replace_secret(self._path(owner), msgspec.msgpack.encode(stored))
            self._pending[owner] = stored
        return X25519PrivateKey.from_private_bytes(stored.secret)

    def waiting(self) -> list[StoredSealingKey]:
        """The keys that were offered for agreements which are not here yet."""
        return list(self._pending.values())

    def pending(self, owner: Owner, /) -> X25519PrivateKey | None:
        """The key that was offered for an agreement which is not here yet."""
        stored = self._pending.get(owner)
        return None if stored is None else X25519PrivateKey.from_private_bytes(stored.secret)

    def claim(self, owner: Owner, /) -> None:
        """Take the key for its agreement, which has come: no other agreement gets it."""
        self._pending.pop(owner, None)

    def overwrite(self, owner: Owner, /) -> None:
        """Put zeros in place of a key, which needs no room on the disk."""
        if self._path(owner).exists():
            overwrite(self._path(owner))

    def was_overwritten(self, owner: Owner, /) -> bool:
        """Whether zeros stood in place of this key when the node started."""
        return self._path(owner) in self._overwritten

    def erase(self, owner: Owner, /) -> None:
        # Overwritten, not only removed: a disk keeps the blocks of a removed file, and with this
        # key the sealed inputs and states that it keeps could be opened.
        erase(self._path(owner))
        self._pending.pop(owner, None)

    def give_back(self, nonce: str, is_sender: Callable[[str], bool], /) -> None:
        """Erase the keys that a platform drew for a nonce, and that no agreement has claimed."""
        for owner in [owner for owner in self._pending if owner[1] == nonce]:
            if is_sender(owner[0]):
                self.erase(owner)

    def lapse(self, now: float, /) -> None:
        """Erase what nobody has claimed for a long time."""
        lapsed = [
            owner
            for owner, stored in self._pending.items()
            if now >= stored.offered + PENDING_SECONDS
        ]
        try_all("sealing keys that lapse", [partial(self.erase, owner) for owner in lapsed])

    def remove_overwritten(self) -> None:
        """Remove the files of zeros, once all agreements are here that they say something of."""
        for path in list(self._overwritten):
            erase(path)
            self._overwritten.discard(path)


SEALING_KEYS = "sealing-keys"
"""The folder of the keys that agreements under way were sealed to."""


class OwnKeys:
    """Long-lived keys to sign with, and sealing keys of agreements that are under way."""

    def __init__(self, config: NodeConfig, data: Path, /) -> None:
        self._node = config.node
        self._keyring = Keyring(Path(config.folder) / config.keys)
        self.sealing = SealingKeys(data / SEALING_KEYS)

    def offer(
        self,
        nonce: str,
        certificate: str,
        /,
        *,
        signing_key: str,
        text: int = 0,
        rows: int = 0,
    ) -> tuple[str, str]:
        """A sealing key for the agreement with this nonce, and a signature under the offer.

        `certificate` is the fingerprint by which the agreement will name the platform.
        """
        signing = self._keyring.signing(signing_key)
        if signing is None:
            raise refuse(
                "this signing key is not ours; compare signing_key in cluster.toml with what "
                "tacit keys show prints at the node"
            )
        owner = certificate, nonce
        public = _public(self.sealing.offer(owner, time.time(), text=text, rows=rows))
        return public, sign_offer(signing, nonce=nonce, platform=certificate, sealing_key=public)

    def check_named(self, agreement: Agreement, /) -> None:
        """Refuse a new agreement that names other keys of this node, or one that is used up."""
        ours = agreement.nodes[self._node]
        if self._keyring.signing(ours.signing_key) is None:
            raise refuse("the agreement gives us another signing key than we have")
        offered = self.sealing.pending(owner_of(agreement))
        if offered is None or _public(offered) != ours.sealing_key:
            raise refuse(
                "the agreement gives us a sealing key that we did not offer for it, or that is "
                "used up; ask for a key and draft again"
            )

    def claim(self, agreement: Agreement, /) -> X25519PrivateKey | None:
        """The key that opens an agreement's boxes, for it alone; None once it has ended."""
        key = self.sealing.pending(owner_of(agreement))
        self.sealing.claim(owner_of(agreement))
        return key

    def erase(self, agreement: Agreement, /) -> None:
        self.sealing.erase(owner_of(agreement))

    def overwrite(self, agreement: Agreement, /) -> None:
        """Make an agreement's key useless on a disk that is full; `erase` does the rest."""
        self.sealing.overwrite(owner_of(agreement))

    def was_overwritten(self, agreement: Agreement, /) -> bool:
        """Whether an agreement had ended when the node started, by what is left of its key."""
        return self.sealing.was_overwritten(owner_of(agreement))

    def signing(self, agreement: Agreement, /) -> Ed25519PrivateKey:
        """The key that signs this node's log of an agreement."""
        key = self._keyring.signing(agreement.nodes[self._node].signing_key)
        if key is None:
            raise refuse("the key that this agreement knows us by was removed; ask the operator")
        return key


def _public(key: X25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()
