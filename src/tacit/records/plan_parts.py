"""Boxes with the parts of plans for their owners, as whoever hands them out keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tacit.agreement.plan_parts import SealedParts
from tacit.errors import FileError
from tacit.files import read_bytes, replace_file

PerNode = list[SealedParts | None]
_READ = msgspec.msgpack.Decoder(PerNode)


class PlanParts:
    """Per search what each node sealed; in a folder if one is given, otherwise in memory."""

    def __init__(self, folder: Path | None = None, /) -> None:
        self._folder = folder
        self._kept: dict[int, PerNode] = {}

    def _path(self, search: int) -> Path | None:
        return None if self._folder is None else self._folder / f"parts-{search}.msgpack"

    def keep(self, search: int, sealed: Sequence[SealedParts | None], /) -> None:
        """Keep what nodes released; of a node that is away now, what it released before."""
        before = self.of(search) or [None] * len(sealed)
        merged = [new or old for new, old in zip(sealed, before, strict=True)]
        self._kept[search] = merged
        if (path := self._path(search)) is not None:
            replace_file(path, msgspec.msgpack.encode(merged), durable=True)

    def of(self, search: int, /) -> PerNode | None:
        """What each node sealed of the plan of a search; None as long as it is not opened."""
        path = self._path(search)
        if search not in self._kept and path is not None and path.exists():
            try:
                found = _READ.decode(read_bytes(path))
            except msgspec.DecodeError:
                raise FileError(path, None, "holds no boxes", "remove it and resume") from None
            self._kept[search] = found
        return self._kept.get(search)
