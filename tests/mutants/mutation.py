"""One small change of the protocols that some test must notice, and the list of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutations.toml")
SOURCES = Path("src") / "tacit"
"""Where the files of mutations are, seen from the root."""


class MutationError(Exception):
    """A mutation that does not fit the source; the list must be brought up to date."""


@dataclass(frozen=True)
class Edit:
    """A text that occurs once in a file, and what takes its place."""

    file: str
    """Below `SOURCES`."""
    old: str
    new: str

    def apply(self, text: str, /) -> str:
        """The text of the file with the change made."""
        count = text.count(self.old)
        if count != 1:
            raise MutationError(f"{self.file} has {count} times, and not once: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Mutation:
    """A change, why it would be a breach or a wrong result, and the tests that concern it."""

    name: str
    edits: tuple[Edit, ...]
    why: str
    tests: tuple[str, ...]
    equivalent: str = ""
    """Why no test can notice it, if none can."""

    @property
    def files(self) -> list[str]:
        """The files that it changes."""
        return sorted({edit.file for edit in self.edits})

    def changed(self, root: Path, /) -> dict[Path, str]:
        """The new text of each file that it changes, by its path below the root."""
        texts: dict[Path, str] = {}
        for edit in self.edits:
            path = SOURCES / edit.file
            text = texts[path] if path in texts else (root / path).read_text()
            texts[path] = edit.apply(text)
        return texts


def _mutation(entry: dict[str, Any]) -> Mutation:
    edits = [entry.pop("edit")] if "edit" in entry else entry.pop("edits")
    entry["tests"] = tuple(entry.get("tests", ()))
    return Mutation(edits=tuple(Edit(**edit) for edit in edits), **entry)


def mutations(path: Path = LIST) -> list[Mutation]:
    """The whole list, in its order."""
    return [_mutation(entry) for entry in tomllib.loads(path.read_text())["mutation"]]
