"""Text that others wrote, made fit for a terminal or a spreadsheet."""

from __future__ import annotations

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
