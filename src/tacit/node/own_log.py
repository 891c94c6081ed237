"""The log for the node's operator: one JSON object per line on standard error."""

from __future__ import annotations

import logging
import sys
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
