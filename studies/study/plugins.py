"""Code of one's own in a study: modules that register operators and disclosures, by name.

Only study files name modules. Problem files and agreements, which may come from others, cannot.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tacit.errors import ParameterError


def load_plugins(modules: Sequence[str], /, *, beside: Path | None = None) -> None:
    """Import modules, which register what they bring.

    A module may lie in the folder of the study; workers on other machines need it installed.

    >>> load_plugins(["tacit.no_such_module"])
    Traceback (most recent call last):
    tacit.errors.ParameterError: the plugin tacit.no_such_module cannot be imported (No module \
named 'tacit.no_such_module'); put it beside the study or install it
    """
    if modules and beside is not None and str(beside.resolve()) not in sys.path:
        sys.path.append(str(beside.resolve()))
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise ParameterError(
                f"the plugin {module} cannot be imported ({error}); "
                "put it beside the study or install it"
            ) from None


def object_named(dotted: str, /) -> Callable[[], Any]:
    """The function that `module.function` names."""
    module, _, name = dotted.rpartition(".")
    if not module:
        raise ParameterError(f"{dotted!r} names no module; write module.function")
    load_plugins([module])
    found = getattr(sys.modules[module], name, None)
    if not callable(found):
        raise ParameterError(f"{module} has no function {name}; correct the name")
    return found  # type: ignore[no-any-return]
