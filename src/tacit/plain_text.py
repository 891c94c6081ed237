"""Make text from others safe for terminals and spreadsheets, and readable."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 500
_BEGINS_A_FORMULA = ("=", "+", "-", "@")
"""After blanks, tabs and line ends, which spreadsheets skip."""
_TYPES = {
    "object": "named fields",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
"""The types of JSON and TOML: their names in decoders, and in plain words."""


def plain_line(text: object, /, *, longest: int = LONGEST) -> str:
    r"""One line without control characters, which could hide or invent what a terminal shows.

    >>> plain_line("north\x1b[2K\nsouth has signed")
    'north[2K south has signed'
    """
    shown = "".join(
        # Marks that turn the direction of text around are not printable either.
        character if character.isprintable() else " " * character.isspace()
        for character in str(text)
    )
    return shown if len(shown) <= longest else shown[:longest] + " ..."


def plain_cell(text: str, /) -> str:
    """A cell that a spreadsheet takes for text, whatever it begins with.

    >>> plain_cell(" =HYPERLINK(1)"), plain_cell("north")
    ("' =HYPERLINK(1)", 'north')
    """
    # An apostrophe marks text in a spreadsheet; a formula could send other cells to a stranger.
    return f"'{text}" if text.lstrip().startswith(_BEGINS_A_FORMULA) else text


def wrapped(lines: Iterable[str], width: int, /) -> list[str]:
    """Lines broken between words, what follows a break indented; a longer word stays whole.

    >>> wrapped(["  no plan has F1 in 08:10 or earlier"], 24)
    ['  no plan has F1 in', '    08:10 or earlier']
    """
    broken = []
    for line in lines:
        margin = line[: len(line) - len(line.lstrip())]
        # Hashes and addresses stay whole, since people copy them from the terminal.
        broken += textwrap.wrap(
            line,
            max(width, 20),
            subsequent_indent=f"{margin}  ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return broken


def decoders_words(error: object, /) -> str:
    """Put a decoder's error into words for the author of the file.

    >>> decoders_words("Object missing required field `url`")
    "the field 'url' is missing"
    >>> decoders_words("Expected `int`, got `str` - at `$.peers[0].node`")
    'at peers[0].node: expected a whole number, got text'
    >>> decoders_words("Expected `int | null`, got `str`")
    'expected a whole number or nothing, got text'
    >>> decoders_words("Input data was truncated")
    'it is empty or ends too early'
    """
    what, _, where = str(error).partition(" - at ")
    place = where.strip("`").removeprefix("$").removeprefix(".")
    if unknown := re.fullmatch(r"(?s)Object contains unknown field `(.*)`", what):
        what = f"the field {unknown[1]!r} is unknown"
    elif missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        what = f"the field {missing[1]!r} is missing"
    elif value := re.fullmatch(r"(?s)Invalid enum value (.*)", what):
        what = f"{value[1]} is not one of its values"
    elif what == "Input data was truncated":
        what = "it is empty or ends too early"
    else:
        what = re.sub(r"`([\w |]+)`", _types_in_words, what)
        what = what.replace("`", "'").replace("Expected", "expected")
    return f"at {place}: {what}" if place else what


def _types_in_words(found: re.Match[str]) -> str:
    """As in `int | array`; other words stay as they are."""
    types = found[1].split(" | ")
    return " or ".join(_TYPES[each] for each in types) if {*types} <= {*_TYPES} else found[0]


def nearest_word(word: str, known: Iterable[str], /) -> str | None:
    """Return the known word that is nearest, or None if none is near.

    >>> nearest_word("popluation", ["population", "elites"])
    'population'
    >>> nearest_word("sizes", ["ties"])
    """
    near = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return near[0] if near else None
