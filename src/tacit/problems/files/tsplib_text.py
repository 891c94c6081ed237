"""The outer form of a TSPLIB file: keywords with values, and sections of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tacit.errors import FileError
from tacit.files import read_bytes

_KEYWORD = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*(:?)\s*(.*)")


@dataclass(frozen=True)
class Token:
    """One number or word of a section and the line it stands in."""

    text: str
    line: int


@dataclass(frozen=True)
class TsplibText:
    """A file taken apart, nothing interpreted yet."""

    path: Path
    values: dict[str, Token] = field(default_factory=dict)
    sections: dict[str, list[Token]] = field(default_factory=dict)

    def word(self, keyword: str, /) -> str | None:
        """The first word of a keyword's value, in capitals; comments may follow it."""
        token = self.values.get(keyword)
        return token.text.split()[0].upper() if token and token.text else None

    def place(self, keyword: str, /) -> str | None:
        """The line of a keyword."""
        token = self.values.get(keyword)
        return f"line {token.line}" if token else None

    def dimension(self) -> int | None:
        """The number of cities, where the file tells it."""
        word = self.word("DIMENSION")
        if word is None:
            return None
        if not (word.isascii() and word.isdigit()) or not 0 < len(word) <= 9:
            raise FileError(
                self.path,
                self.place("DIMENSION"),
                f"DIMENSION is {word!r}",
                "give the number of cities",
            )
        return int(word)


def read_tsplib_text(path: Path, /) -> TsplibText:
    r"""Take a TSPLIB file apart."""
    text = TsplibText(path)
    # Old files carry names in old encodings, in comments only: those bytes may be anything.
    lines = read_bytes(path).decode("utf-8-sig", errors="replace").splitlines()
    section: list[Token] | None = None
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped:
            continue
        keyword = _KEYWORD.fullmatch(stripped)
        if keyword is None:
            if section is None:
                raise FileError(
                    path,
                    f"line {number}",
                    f"{_shown(stripped)!r} stands before any section",
                    "check that this is a TSPLIB file",
                )
            section.extend(Token(word, number) for word in stripped.split())
            continue
        name, colon, value = keyword.group(1).upper(), keyword.group(2), keyword.group(3).strip()
        if name == "EOF":
            break
        if name.endswith("_SECTION"):
            section = text.sections.setdefault(name, [])
            section.extend(Token(word, number) for word in value.split())
        elif colon or (section is None and value):
            section = None
            text.values[name] = Token(value, number)
        else:
            raise FileError(
                path,
                f"line {number}",
                f"{_shown(stripped)!r} is neither a number nor a keyword",
                "check that this is a TSPLIB file",
            )
    if not text.values and not text.sections:
        raise FileError(path, None, "the file is empty", "give a TSPLIB file")
    return text


def _shown(line: str) -> str:
    return line if len(line) <= 40 else line[:37] + "..."
