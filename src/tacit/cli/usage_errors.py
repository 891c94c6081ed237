"""What the parser of the command line says of a mistake, in one sentence that says what to do."""

from __future__ import annotations

import re
from typing import Any

_WORDS = (
    (r"Value error, ", ""),
    (r"Input should be a valid integer.*", "give a whole number"),
    (r"Input should be a valid number.*", "give a number"),
    (r"Input should be greater than or equal to (\S+)", r"give at least \1"),
    (r"Input should be less than or equal to (\S+)", r"give at most \1"),
    (r"^No such (command|option):? '?([^' ]+)'?", r"there is no \1 \2"),
    (r"\. Did you mean '([^']+)'\?", r"; did you mean \1?"),
    (r" \(Possible options: ([^,)]+).*\)", r"; did you mean \1?"),
    (r"^Got unexpected extra argument(?:s|\(s\))? \((.*)\)", r"leave out what is too much: \1"),
    (r"^Option '([^']+)' requires an argument", r"give a value after \1"),
)


def usage_words(error: Any, /) -> str:  # noqa: ANN401 - Typer exports its errors under no name
    """One sentence: what is wrong, what to do, and where all options are listed.

    >>> import typer
    >>> usage_words(typer.BadParameter("Input should be less than or equal to 4"))
    'Invalid value: give at most 4; see tacit --help'
    """
    command = error.ctx.command_path if error.ctx is not None else "tacit"
    message = " ".join(error.format_message().split()).rstrip(".")
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    missing = re.fullmatch(r"Missing (?:argument|option) '([^']+)'", message)
    meaning = getattr(getattr(error, "param", None), "help", None)
    if missing and meaning:
        # The help of a parameter begins a sentence of its own, and may have several.
        name = missing[1] if missing[1].startswith("-") else missing[1].upper()
        message = f"give {name}: {meaning[:1].lower()}{meaning[1:].rstrip('.')}"
    return f"{message}{' See' if message.endswith('?') else '; see'} {command} --help"
