"""Pinned certificates as their files have them now, so that a running process sees new ones.

A file may hold two certificates of one party, the old and the new one, while they are rotated: the
party may show either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import FileError
from tacit.identity.certificates import read_certificate
from tacit.mpc.transport import fingerprint, split_certificates

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was read."""

    stamp: _Stamp
    pem: str
    fingerprints: list[str]

    @classmethod
    def of(cls, path: Path) -> _Read:
        stamp, pem = _stamp(path), read_certificate(path)
        return cls(stamp, pem, [fingerprint(each) for each in split_certificates(pem)])


class PinnedCertificates(Mapping[str, str]):
    """Parties by name, each with its certificates in PEM; changed files are read again."""

    def __init__(self, files: Mapping[str, Path], /) -> None:
        self._files = dict(files)
        self._read = {name: _Read.of(path) for name, path in files.items()}

    def _current(self, name: str) -> _Read:
        known = self._read[name]
        if _stamp(self._files[name]) == known.stamp:
            return known
        try:
            self._read[name] = _Read.of(self._files[name])
        except FileError:
            return known  # somebody is just writing it, or made a mistake
        return self._read[name]

    def __getitem__(self, name: str) -> str:
        return self._current(name).pem

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def fingerprints(self, name: str, /) -> list[str]:
        """All that a party may show; the first is what it shows now, or will."""
        return self._current(name).fingerprints


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
