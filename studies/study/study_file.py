"""A study from the text of its file, whatever kind of study it is."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from tacit.errors import FileError
from tacit.plain_text import decoders_words

S = TypeVar("S", bound=msgspec.Struct)
Raw = dict[str, Any]


def study_from(
    text: str, path: str, kind: type[S], /, *, see: str, expand: Callable[[Raw], Raw] | None = None
) -> S:
    """Read a study of a kind; `expand` writes out what a file may abbreviate.

    A mistake is said with the document to `see`.
    """
    try:
        raw = tomllib.loads(text)
        return msgspec.convert(raw if expand is None else expand(raw), kind)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise FileError(path, None, decoders_words(error), f"see {see}") from None


def shipped_text(package: str, name: str, /) -> str:
    """The text of a study file that comes with a package."""
    return (files(package) / name).read_text(encoding="utf-8")
