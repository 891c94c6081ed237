"""New certificates and keys in three steps, while everything runs.

::

    prepare    new ones are drawn; the certificate file holds the old and the new certificate, and
               goes to everybody who pins it: either is accepted then
    switch     the new ones are used from now on, and the old signing key only for agreements that
               name it
    finish     the old ones are gone

A step that was interrupted is repeated. Running nodes and platforms read the files again when they
have changed, so nothing is restarted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from tacit.errors import FileError
from tacit.files import check_secret, create_secret, erase, read_bytes, replace_file
from tacit.identity.certificates import AUTHORITY_FILE, make_https_certificate, read_certificate
from tacit.identity.config import ClusterConfig, NodeConfig
from tacit.identity.keys import Keys, beside, load_keys, save_keys
from tacit.identity.public_half import short_fingerprints
from tacit.mpc.transport import (
    certificate_hosts,
    make_certificate,
    split_certificates,
)

_STEPS = "take the steps in order: prepare, switch, finish"


@dataclass(frozen=True)
class Rotated:
    """The files of a node or a platform that are rotated together."""

    certificate: Path
    tls_key: Path
    keys: Path | None = None
    """A node's signing key; a platform has none."""
    https_hosts: Sequence[str] = ()
    """Of what browsers see: the authority in `ca.pem` is rotated with the certificate."""

    def prepare(self) -> None:
        """Draw new ones; the certificate file then holds both certificates, the old one first."""
        current = split_certificates(read_certificate(self.certificate))
        if len(current) > 1:
            if beside(self.tls_key, "next").exists():
                return  # it is prepared already
            what = "holds two certificates: a rotation is under way"
            raise FileError(self.certificate, None, what, "finish it first")
        # Each part is made only if it is not there yet: a step that was interrupted is repeated.
        if self.keys is not None and not beside(self.keys, "next").exists():
            save_keys(Keys.new(load_keys(self.keys).name), beside(self.keys, "next"))
            _give_to_owner_of(self.keys, beside(self.keys, "next"))
        next_key = beside(self.tls_key, "next")
        next_key.unlink(missing_ok=True)  # of an attempt whose certificate was not written
        pem, secret = self._draw(current[0])
        # The key is on the disk before anybody can pin the certificate that belongs to it.
        create_secret(next_key, secret.encode())
        _give_to_owner_of(self.tls_key, next_key)
        self._write([*current, pem])

    def _draw(self, current: str) -> tuple[str, str]:
        # Whoever has the new `ca.pem` accepts the old certificate too.
        if not self.https_hosts:
            return make_certificate(_common_name(current), hosts=certificate_hosts(current))
        made = make_https_certificate(self.https_hosts)
        known = read_certificate(self.to_pin)
        _replace(self.to_pin, [*split_certificates(known)[:1], made.authority])
        return made.certificate, made.key

    @property
    def to_pin(self) -> Path:
        """Return the file that others have to get: the certificate, or its authority."""
        return self.certificate.with_name(AUTHORITY_FILE) if self.https_hosts else self.certificate

    def switch(self) -> None:
        next_key = beside(self.tls_key, "next")
        if next_key.exists():
            check_secret(next_key)
            certificates = split_certificates(read_certificate(self.certificate))
            # The certificate file is written first. Until the key is renamed, the step counts as
            # not done and is repeated.
            new = [each for each in certificates if _belong_together(each, next_key)]
            if not new:
                what = "is not the key of any certificate in the certificate file"
                raise FileError(next_key, None, what, _STEPS)
            self._write([*new, *(each for each in certificates if each not in new)])
            next_key.replace(self.tls_key)
        elif not self._is_switched():
            raise FileError(next_key, None, "there is no such file", _STEPS)
        if self.keys is not None and beside(self.keys, "next").exists():
            previous = beside(self.keys, "previous")
            if not previous.exists():
                # A second name, not a move: at no instant is the node without its current key.
                os.link(self.keys, previous)
            beside(self.keys, "next").replace(self.keys)

    def _is_switched(self) -> bool:
        certificates = split_certificates(read_certificate(self.certificate))
        return len(certificates) > 1 and _belong_together(certificates[0], self.tls_key)

    def finish(self, *, agreements: Sequence[str] = ()) -> None:
        """Forget the old ones; refused while an agreement has to be signed for with the old key.

        `agreements` are the hashes of those that are kept and name the previous signing key.
        """
        if beside(self.tls_key, "next").exists():
            raise FileError(self.certificate, None, "is not switched to the new one yet", _STEPS)
        # Peers and participants check its logs with the key that these agreements name.
        if agreements:
            what = f"{len(agreements)} agreements that are kept here know the node by it"
            remedy = "wait until they are removed, keep_days after they expire"
            raise FileError(self.previous_keys, None, what, remedy)
        self._write(split_certificates(read_certificate(self.certificate))[:1])
        if self.https_hosts:
            _replace(self.to_pin, split_certificates(read_certificate(self.to_pin))[-1:])
        if self.keys is not None:
            erase(self.previous_keys)

    @property
    def open_step(self) -> str | None:
        """Return the step that comes next in a rotation that was begun; None if there is none."""
        secret = [self.tls_key, *([] if self.keys is None else [self.keys])]
        held = len(split_certificates(read_certificate(self.certificate)))
        if any(beside(each, "next").exists() for each in secret):
            # Without the second certificate `prepare` was interrupted, and is repeated.
            return "switch" if held > 1 else "prepare"
        authorities = split_certificates(read_certificate(self.to_pin)) if self.https_hosts else ()
        is_open = held > 1 or len(authorities) > 1 or self.previous_keys.exists()
        return "finish" if is_open else None

    @property
    def previous_keys(self) -> Path:
        """Return where the previous signing key is, between the last two steps."""
        return beside(self.keys or self.tls_key, "previous")

    @property
    def new_fingerprint(self) -> str:
        """Return the new one's of those that others accept, to compare by phone."""
        # `prepare` appends it, and `switch` puts it first; of the authorities it stays last.
        switched = not self.https_hosts and not beside(self.tls_key, "next").exists()
        return short_fingerprints(read_certificate(self.to_pin))[0 if switched else -1]

    def _write(self, certificates: list[str]) -> None:
        _replace(self.certificate, certificates)


def _replace(path: Path, certificates: list[str]) -> None:
    replace_file(path, "".join(certificates).encode(), durable=True)
    path.chmod(0o644)


def _common_name(pem: str) -> str:
    (name,) = x509.load_pem_x509_certificate(pem.encode()).subject.get_attributes_for_oid(
        NameOID.COMMON_NAME
    )
    return str(name.value)


def _give_to_owner_of(old: Path, new: Path) -> None:
    # An administrator may rotate for a node that runs as another user, who must be able to
    # read.
    if os.geteuid() == 0:
        owner = old.stat()
        os.chown(new, owner.st_uid, owner.st_gid)


def rotated_by_node(config: NodeConfig, /) -> Rotated:
    folder = Path(config.folder)
    return Rotated(folder / config.certificate, folder / config.tls_key, folder / config.keys)


def rotated_by_platform(config: ClusterConfig, /) -> Rotated:
    folder = Path(config.folder)
    return Rotated(folder / config.certificate, folder / config.tls_key)


def _belong_together(pem: str, key: Path) -> bool:
    public = x509.load_pem_x509_certificate(pem.encode()).public_key()
    secret = load_pem_private_key(read_bytes(key), password=None)
    return bool(public == secret.public_key())
