"""Whose turn it is to write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class WritersTurn:
    """One writer at a time; those who come first wait for nobody but the one who is writing."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._urgent = 0
        self.is_taken = False

    @contextmanager
    def taken(self, *, first: bool = False) -> Iterator[None]:
        """Have the turn for as long as the block lasts."""
        with self._changed:
            self._urgent += first
            self._changed.wait_for(lambda: not self.is_taken and (first or not self._urgent))
            self._urgent -= first
            self.is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self.is_taken = False
                self._changed.notify_all()
