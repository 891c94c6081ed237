"""Text that others wrote, made fit for a terminal."""

from __future__ import annotations

LONGEST = 500


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
