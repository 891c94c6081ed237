"""Who a node knows: itself, its peers and its platforms, by their certificates."""

from __future__ import annotations

from pathlib import Path

from tacit.identity.certificates import CertificateFiles, read_certificate
from tacit.identity.config import NodeConfig
from tacit.identity.expiry import expires, last_expires
from tacit.identity.pinned import PinnedCertificates
from tacit.mpc import party_name
from tacit.mpc.transport import fingerprint, split_certificates


class Parties:
    """Certificates are looked up in their files, which may change while the node runs."""

    def __init__(self, config: NodeConfig, /) -> None:
        folder = Path(config.folder)
        self._own = CertificateFiles(folder / config.certificate, folder / config.tls_key)
        self._me = party_name(config.node)
        self.nodes = len(config.peers) + 1
        files = {party_name(peer.node): folder / peer.certificate for peer in config.peers}
        self.platforms: list[str] = []
        """The names that links of platforms go by, each for as long as the node runs."""
        for path in config.platforms:
            name = f"platform {fingerprint(read_certificate(folder / path))[:16]}"
            self.platforms.append(name)
            files[name] = folder / path
        self.pinned = PinnedCertificates(files)
        self.identity = self._own.identity(self.pinned)

    def certificates_expire(self) -> dict[str, float]:
        """When each party needs a new certificate, in seconds since 1970."""
        found = {name: last_expires(pem) for name, pem in self.pinned.items()}
        return {self._me: expires(self._own.pem), **found}

    def knows(self, node: int, certificate: str, /) -> bool:
        """Whether this is the fingerprint of a certificate of that node, ours included."""
        name = party_name(node)
        if name == self._me:
            ours = split_certificates(self._own.pem)
            return certificate in [fingerprint(each) for each in ours]
        return certificate in self.pinned.fingerprints(name)

    def platform_certificates(self, name: str, /) -> list[str]:
        """The fingerprints that a platform goes by; agreements name one of them."""
        return self.pinned.fingerprints(name)

    def are_one_platform(self, one: str, other: str, /) -> bool:
        """Whether two fingerprints are of one platform, which has two while it rotates them."""
        return one == other or any(
            {one, other} <= set(self.pinned.fingerprints(name)) for name in self.platforms
        )
