"""Files of a profile: only their owner can read them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.files import replace_secret, writing


def replace_private(path: Path, data: bytes, /) -> None:
    """Write a file of the profile, which only its owner can read, whole or not at all."""
    with writing(path, remedy="make room, or choose another --profile"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_secret(path, data)


@contextmanager
def changing(path: Path, /) -> Iterator[None]:
    """Keep other processes from changing a file between what is read of it and what is written.

    Whoever follows two series, or checks a log beside, has several at a time.
    """
    lock = path.with_name(f".{path.name}.lock")
    with writing(lock, remedy="make room, or choose another --profile"):
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        held = lock.open("wb")
    with held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
