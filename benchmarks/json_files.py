"""Figures in JSON files, which tables of documents are held to."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

Content = TypeVar("Content")


def write_json(path: Path | None, content: object, /) -> None:
    """Write the content, if there is a path."""
    if path is not None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def read_json(path: Path, kind: type[Content], /) -> Content:
    """Read what `write_json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=kind)
