"""The log for the node's operator: one JSON object per line on standard error.

`LineLimit` bounds the lines that a platform or a stranger can cause: a flood must not fill
the disk.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import TextIO

import msgspec

LOGGER = "tacit.node"
ECHO_LIMIT = 500
"""Characters of somebody else's text that go into a refusal or a line."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON; `extra={"fields": {...}}` adds fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return msgspec.json.encode(line, enc_hook=str).decode()


def log_as_json_lines(stream: TextIO | None = None, /) -> None:
    """Write what happens at the node to standard error, or to the stream given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(LOGGER)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def shorten(text: str, /) -> str:
    """The text, or its beginning with a note of how long it was."""
    if len(text) <= ECHO_LIMIT:
        return text
    return f"{text[:ECHO_LIMIT]}... ({len(text)} characters)"


class LineLimit:
    """A supply of lines that fills up again with time."""

    def __init__(
        self,
        *,
        burst: int,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst, self._rate, self._clock = burst, per_minute / 60, clock
        self._left, self._at = float(burst), clock()
        self._left_out = 0

    def admit(self) -> int | None:
        """How many lines were left out before this one, or None if it is left out as well."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            self._left_out += 1
            return None
        self._left -= 1
        left_out, self._left_out = self._left_out, 0
        return left_out
