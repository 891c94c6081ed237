"""Text that others wrote, made fit for a terminal or a spreadsheet."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

LONGEST = 500
_BEGINS_A_FORMULA = ("=", "+", "-", "@")
"""After blanks, tabs and line ends, which spreadsheets skip."""


def plain_line(text: object, /, *, longest: int = LONGEST) -> str:
    r"""One line without control characters, which could hide or invent what a terminal shows.

    >>> plain_line("north\x1b[2K\nsouth has signed")
    'north[2K south has signed'
    """
    shown = "".join(
        character if character.isprintable() else " " * character.isspace()
        for character in str(text)
    )
    return shown if len(shown) <= longest else shown[:longest] + " ..."


def plain_cell(text: str, /) -> str:
    """A cell that a spreadsheet takes for text, whatever it begins with.

    >>> plain_cell(" =HYPERLINK(1)"), plain_cell("north")
    ("' =HYPERLINK(1)", 'north')
    """
    return f"'{text}" if text.lstrip().startswith(_BEGINS_A_FORMULA) else text


def wrapped(lines: Iterable[str], width: int, /) -> list[str]:
    """Lines broken between words, what follows a break indented; a longer word stays whole.

    >>> wrapped(["  no plan has F1 in 08:10 or earlier"], 24)
    ['  no plan has F1 in', '    08:10 or earlier']
    """
    found = []
    for line in lines:
        margin = line[: len(line) - len(line.lstrip())]
        found += textwrap.wrap(
            line,
            max(width, 20),
            subsequent_indent=f"{margin}  ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return found
