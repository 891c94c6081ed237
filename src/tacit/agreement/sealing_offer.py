"""A node's offer of a sealing key: for one agreement, signed with its long-lived key.

Whoever seals rows checks the offer with the signing key that it knows the node by, so a platform
cannot put a key of its own into an agreement. The secret half goes when the agreement has ended:
keys that are stolen from a node later do not open boxes that were recorded before.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, NodeTerms
from tacit.errors import AgreementError


def _offer(nonce: str, platform: str, sealing_key: str) -> bytes:
    return f"{nonce}\n{platform}\n{sealing_key}".encode()


def sign_offer(key: Ed25519PrivateKey, /, *, nonce: str, platform: str, sealing_key: str) -> str:
    """A node's signature under the offer of a key for the agreement with this nonce.

    `platform` is the fingerprint of the platform's certificate that the agreement names.
    """
    return sign(key, "sealing key", _offer(nonce, platform, sealing_key)).hex()


def is_offered(node: NodeTerms, /, *, nonce: str, platform: str) -> bool:
    """Whether the node itself offered the sealing key that these terms give it."""
    try:
        signature = bytes.fromhex(node.sealing_signature)
    except ValueError:
        return False
    offer = _offer(nonce, platform, node.sealing_key)
    return is_signed(node.signing_key, "sealing key", offer, signature)


def check_offers(agreement: Agreement, /) -> None:
    """Refuse an agreement with a sealing key that its node did not offer for it."""
    for number, node in enumerate(agreement.nodes):
        if not is_offered(node, nonce=agreement.nonce, platform=agreement.platform):
            raise AgreementError(
                f"the sealing key of node {number} is not signed by the node for this agreement; "
                "ask the node for a key and draft again"
            )
