"""Files of a profile: only their owner can read them."""

from __future__ import annotations

from pathlib import Path

from tacit.files import replace_secret, writing


def replace_private(path: Path, data: bytes, /) -> None:
    """Write a file of the profile, which only its owner can read, whole or not at all."""
    with writing(path, remedy="make room, or choose another --profile"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_secret(path, data)
