"""Examples of docstrings as code: Markdown would take `>>>` for quotations in quotations."""

from __future__ import annotations

from typing import Any

import griffe

from release.site import fenced


class DoctestFences(griffe.Extension):
    """Puts fences around the doctests of every docstring that a page shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - Griffe's
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
