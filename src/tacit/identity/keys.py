"""Key files with an Ed25519 key to sign with, and a node's ring of them.

A file is JSON with the secret key in hexadecimal, and readable by its owner alone. While a node's
keys are rotated, the current, next and previous one lie beside each other: `node-0.key`,
`node-0.next.key`, `node-0.previous.key`. An agreement names the key that the node signs its log
with, so the previous one stays until the last agreement that names it is gone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.errors import FileError
from tacit.files import check_secret, create_secret, other_version, read_bytes

FORMAT: Literal["tacit-keys/1"] = "tacit-keys/1"


class _KeyFile(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["tacit-keys/1"]
    name: str
    signing: str


_READ = msgspec.json.Decoder(_KeyFile)


@dataclass(frozen=True, repr=False)
class Keys:
    """Somebody's secret keys; printing them shows the public halves only."""

    name: str
    signing: Ed25519PrivateKey

    @classmethod
    def new(cls, name: str) -> Keys:
        return cls(name, Ed25519PrivateKey.generate())

    @property
    def signing_public(self) -> str:
        return self.signing.public_key().public_bytes_raw().hex()

    def __repr__(self) -> str:
        return f"Keys({self.name!r}, signs {self.signing_public})"


def key_fingerprint(public_key: str, /) -> str:
    """A public key's SHA-256, as much of it as two people compare by phone (128 bits).

    >>> key_fingerprint("00" * 32)
    '66687aad f862bd77 6c8fc18b 8e9f8e20'
    """
    digest = hashlib.sha256(bytes.fromhex(public_key)).hexdigest()
    return " ".join(digest[at : at + 8] for at in range(0, 32, 8))


def save_keys(keys: Keys, path: Path) -> None:
    stored = _KeyFile(FORMAT, keys.name, keys.signing.private_bytes_raw().hex())
    create_secret(path, msgspec.json.encode(stored) + b"\n")


def load_keys(path: Path) -> Keys:
    remedy = "make keys with tacit keys new"
    # A key that others can read may have been copied: whoever has it signs as this party.
    check_secret(path, remedy=remedy)
    data = read_bytes(path, remedy=remedy)
    try:
        stored = _READ.decode(data)
        signing = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(stored.signing))
    except (msgspec.DecodeError, ValueError):
        what = other_version(data, FORMAT) or "is not a key file"
        raise FileError(path, None, what, remedy) from None
    return Keys(stored.name, signing)


def beside(path: Path, which: str, /) -> Path:
    """Return where the next or previous of a file is.

    >>> beside(Path("node-0.tls.key"), "next").name
    'node-0.tls.next.key'
    """
    return path.with_name(f"{path.stem}.{which}{path.suffix}")


class Keyring:
    """All keys that a node holds; they are read again when their files have changed."""

    def __init__(self, path: Path, /) -> None:
        self._files = (path, beside(path, "next"), beside(path, "previous"))
        self._stamps = self._stamps_now()
        self._keys = self._load()

    def _load(self) -> list[Keys]:
        current, *others = self._files
        return [load_keys(path) for path in (current, *(each for each in others if each.exists()))]

    def _stamps_now(self) -> list[tuple[int, int] | None]:
        return [
            (each.stat().st_mtime_ns, each.stat().st_ino) if each.exists() else None
            for each in self._files
        ]

    def _current(self) -> list[Keys]:
        try:
            stamps = self._stamps_now()
            # A running node takes rotated keys without a restart.
            if stamps != self._stamps:
                self._keys, self._stamps = self._load(), stamps
        except (FileError, OSError):
            return self._keys  # they are just being rotated
        return self._keys

    def signing(self, public: str, /) -> Ed25519PrivateKey | None:
        """Return the key with this public half, if it is ours."""
        # An agreement names the key that the node signs with: during a rotation that may be an old
        # one.
        found = (each.signing for each in self._current() if each.signing_public == public)
        return next(found, None)
