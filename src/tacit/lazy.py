"""Packages whose names are imported when one of them is first used.

A node starts without what only a search needs, and a command without what only others need. The
names of such a package stand once, in the imports that type checkers read:

    if TYPE_CHECKING:
        from tacit.search.evolution import Evolution as Evolution
    else:
        __getattr__ = lazily(__name__)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def lazily(package: str, /) -> Callable[[str], object]:
    """The `__getattr__` of a package that imports its names on first use.

    >>> lazily("tacit.search")("Evolution").__name__
    'Evolution'
    >>> lazily("tacit.search")("Revolution")
    Traceback (most recent call last):
    AttributeError: module 'tacit.search' has no attribute 'Revolution'
    """

    def load(name: str) -> object:
        home = public_names(package).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


@cache
def public_names(package: str, /) -> dict[str, str]:
    """The names that a package offers, each with the module that it comes from.

    >>> public_names("tacit.search")["Evolution"]
    'tacit.search.evolution'
    """
    source = Path(str(import_module(package).__file__)).read_text(encoding="utf-8")
    return names_imported(package, source)


def names_imported(package: str, source: str, /) -> dict[str, str]:
    """The names that the source of a package imports from its own modules.

    >>> names_imported("tacit.search", "from tacit.search.evolution import SearchState")
    {'SearchState': 'tacit.search.evolution'}
    """
    body = ast.parse(source).body
    imports = [*body, *(each for node in body if isinstance(node, ast.If) for each in node.body)]
    return {
        alias.name: str(node.module)
        for node in imports
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(f"{package}.")
        and node.module != __name__
        for alias in node.names
    }
