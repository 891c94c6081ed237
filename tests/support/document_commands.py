"""The commands of a document, as somebody who reads it would copy them.

A block of shell commands belongs to those whom the paragraph before it names in bold. A block
before which nobody is named belongs to those of the block before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
_BOLD = re.compile(r"\*\*([^*]+?):?\*\*")


@dataclass(frozen=True)
class Commands:
    """A block of a document, and who types it."""

    parties: tuple[str, ...]
    text: str
    heading: str


def commands(document: str, names: Sequence[str], /) -> Iterator[Commands]:
    """All blocks below the first heading that names somebody, in their order."""
    at = 0
    parties: tuple[str, ...] = ()
    for found in _BLOCK.finditer(document):
        before = document[at : found.start()]
        headings = re.findall(r"^## (.+)$", document[: found.start()], flags=re.MULTILINE)
        named = [name for bold in _BOLD.findall(before) for name in re.findall(r"[\w-]+", bold)]
        parties = tuple(name for name in named if name in names) or parties
        at = found.end()
        if parties:
            yield Commands(parties, found[1], headings[-1] if headings else "")
