"""The command line: one thin command per room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.cli.main import main
else:
    __getattr__ = lazily(__name__)
