"""A node's signing keys: the current one, and the next and previous one while they are rotated.

They lie beside each other: `node-0.key`, `node-0.next.key`, `node-0.previous.key`. An agreement
names the key that the node signs its log with, so the previous one stays until the last agreement
that names it is gone.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.errors import FileError
from tacit.identity.keys import Keys, load_keys


def beside(path: Path, which: str, /) -> Path:
    """Where the next or previous of a file is.

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
            if stamps != self._stamps:
                self._keys, self._stamps = self._load(), stamps
        except (FileError, OSError):
            return self._keys  # they are just being rotated
        return self._keys

    def signing(self, public: str, /) -> Ed25519PrivateKey | None:
        """The key with this public half, if it is ours."""
        found = (each.signing for each in self._current() if each.signing_public == public)
        return next(found, None)
