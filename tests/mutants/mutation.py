"""One small change of the sources that some test must notice, and the lists of them.

There is a list per room, `lists/ROOM.toml`. An entry has a `name`, one `edit` or several `edits`,
`why` it would be a breach or a wrong result, and the `tests` that concern it. An edit has a `file`
below src/tacit, the text `old`, which occurs once there, and `new`, which takes its place. Where no
test can notice the change, `equivalent` has the reason.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).with_name("lists")
SOURCES = Path("src") / "tacit"
"""Where the files of mutations are, seen from the root."""


class MutationError(Exception):
    """A mutation that does not fit the source; its list must be brought up to date."""


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
    def room(self) -> str:
        """The room that it changes first, after which its list is named."""
        return self.edits[0].file.partition("/")[0]

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


def mutations(*lists: Path) -> list[Mutation]:
    """The mutations of these lists, or of all, in the order of their rooms."""
    read = [tomllib.loads(each.read_text()) for each in lists or sorted(LISTS.glob("*.toml"))]
    return [_mutation(entry) for each in read for entry in each["mutation"]]
