"""What was disclosed under an agreement, in the order in which a node was told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tacit.errors import EngineError
from tacit.node.state.stored import Stored


class StoredAnswer(Stored, frozen=True, tag="answer/1"):
    """What an evaluation disclosed of an objective to a node that follows the search."""

    objective: int
    labels: list[int]
    best: int | None


_READ = msgspec.msgpack.Decoder(StoredAnswer)


class AnswerFile:
    """Answers one after the other, each with its length before it."""

    def __init__(self, path: Path, /) -> None:
        self._path = path

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._path.stat().st_size if self._path.exists() else 0

    def add(self, objective: int, labels: list[int], best: int | None, /) -> None:
        """Keep an answer, or nothing of it where the disk is full: others come after it."""
        data = msgspec.msgpack.encode(StoredAnswer(objective, labels, best))
        with self._path.open("ab", buffering=0) as file:
            start = file.tell()
            whole = len(data).to_bytes(4, "little") + data
            try:
                written = file.write(whole)
            except OSError:
                written = 0
            if written != len(whole):
                file.truncate(start)
                raise EngineError("an answer cannot be kept; check the node's disk")

    def read(self) -> Iterator[StoredAnswer]:
        """All answers in their order; what a crash left of half a one is cut off."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            while True:
                start = file.tell()
                size = int.from_bytes(file.read(4), "little")
                data = file.read(size)
                if not size or len(data) < size:
                    file.truncate(start)
                    return
                yield _READ.decode(data)
