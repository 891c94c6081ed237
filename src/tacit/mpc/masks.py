"""Masks and permutations: one AES-CTR stream per component and label.

The holders of a component share a key, so they draw the same words without communication
[araki2016, Section 2]. Every draw has a label, every label its own subkey (HKDF, RFC 5869), and
a label that was drawn is never given out again: no mask can be used twice.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit.mpc.ring import Words

_ZEROS = bytes(1 << 16)
"""What is encrypted: as much at a time as stays in the cache."""


class MaskSource(Protocol):
    """Where a session draws its masks from; tests substitute scripted sources."""

    def words(self, label: str, component: int, count: int) -> Words:
        """Uniform words, the same for all holders of the component."""
        ...

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        """A uniform permutation, the same for all holders of the component."""
        ...


def expand(key: bytes, info: bytes) -> bytes:
    """HKDF-Expand of RFC 5869 with SHA-256, for one block of 32 bytes.

    >>> expand(bytes(32), b"a") == expand(bytes(32), b"b")
    False
    """
    return hmac.digest(key, info + b"\x01", "sha256")


class KeyedMasks:
    """The production source: AES-128-CTR under a subkey of the component's evaluation key.

    >>> masks = KeyedMasks({0: bytes(32), 1: bytes(range(32))})
    >>> masks.words("shuffle.Z", 0, 3).shape
    (3,)
    >>> sorted(masks.permutation("shuffle.p", 1, 4).tolist())
    [0, 1, 2, 3]
    """

    def __init__(self, keys: Mapping[int, bytes]) -> None:
        self._keys = dict(keys)

    def words(self, label: str, component: int, count: int) -> Words:
        subkey = expand(self._keys[component], b"words|" + label.encode())
        # The subkey serves one stream only, so its second half may be the counter's start.
        stream = Cipher(algorithms.AES(subkey[:16]), modes.CTR(subkey[16:])).encryptor()
        size = 8 * count
        if size <= len(_ZEROS):
            words: Words = np.frombuffer(stream.update(bytes(size)), dtype=np.uint64)
            return words
        # Written once, into memory that is not cleared before: several times as fast.
        made = np.empty(count + 2, dtype=np.uint64)  # with room for one more block
        out = made.data.cast("B")
        for first in range(0, size, len(_ZEROS)):
            stream.update_into(_ZEROS[: size - first], out[first:])
        # A mask that somebody changed would no longer be that of the other holders.
        made.flags.writeable = False
        return made[:count]

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        """The order of `size` words of AES-CTR; equal words (2^-64 per pair) would bias it."""
        # A prefix of its own: the words that order a permutation are never given out as a mask.
        words = self.words("permutation|" + label, component, size)
        return np.argsort(words, kind="stable")
