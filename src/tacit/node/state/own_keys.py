"""A node's own keys, and which of them an agreement means: what it signs with, what opens boxes."""

from __future__ import annotations

import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.sealing_offer import sign_offer
from tacit.agreement.terms import Agreement
from tacit.identity.config import NodeConfig
from tacit.identity.keyring import Keyring
from tacit.node.state.policy import refuse
from tacit.node.state.sealing_keys import SealingKeys, owner_of

SEALING_KEYS = "sealing-keys"
"""The folder of the keys that agreements under way were sealed to."""


class OwnKeys:
    """Long-lived keys to sign with, and sealing keys of agreements that are under way."""

    def __init__(self, config: NodeConfig, data: Path, /) -> None:
        self._node = config.node
        self._keyring = Keyring(Path(config.folder) / config.keys)
        self.sealing = SealingKeys(data / SEALING_KEYS, most_pending=config.most_agreements)

    def offer(self, nonce: str, certificate: str, /, *, signing_key: str) -> tuple[str, str]:
        """A sealing key for the agreement with this nonce, and our signature under the offer.

        `certificate` is the fingerprint by which the agreement will name the platform.
        """
        signing = self._keyring.signing(signing_key)
        if signing is None:
            raise refuse(
                "this signing key is not ours; compare signing_key in cluster.toml with what "
                "tacit keys show prints at the node"
            )
        public = _public(self.sealing.offer((certificate, nonce), time.time()))
        return public, sign_offer(signing, nonce=nonce, platform=certificate, sealing_key=public)

    def check_named(self, agreement: Agreement, /) -> None:
        """Refuse a new agreement that gives us other keys than ours, or a key that is used up."""
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
        """What opens an agreement's boxes, for it alone; nothing once it has ended."""
        key = self.sealing.pending(owner_of(agreement))
        self.sealing.claim(owner_of(agreement))
        return key

    def erase(self, agreement: Agreement, /) -> None:
        """The agreement has ended: nothing opens its boxes any more."""
        self.sealing.erase(owner_of(agreement))

    def signing(self, agreement: Agreement, /) -> Ed25519PrivateKey:
        """The key that an agreement knows us by."""
        key = self._keyring.signing(agreement.nodes[self._node].signing_key)
        if key is None:
            raise refuse("the key that this agreement knows us by was removed; ask the operator")
        return key


def _public(key: X25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()
