"""Write the node's own log: a hash chain in its data folder, and JSON lines for the operator."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec.structs import asdict, replace

from tacit.errors import LogError
from tacit.records.events import LinkRejected, LogEvent
from tacit.records.node_log import LineLimit, NodeLog

LOGGER = "tacit.node"
ECHO_LIMIT = 500
"""Characters of somebody else's text that go into a refusal or a line."""


class OperatorLines(logging.Formatter):
    """A record as one line of JSON; `extra={"fields": {...}}` adds fields."""

    def format(self, record: logging.LogRecord) -> str:
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
    handler.setFormatter(OperatorLines())
    logger = logging.getLogger(LOGGER)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def shorten(text: str, /) -> str:
    if len(text) <= ECHO_LIMIT:
        return text
    return f"{text[:ECHO_LIMIT]}... ({len(text)} characters)"


def say(what: str, /) -> None:
    """Tell the operator on standard error, which may be a file on the very disk that is full."""
    with suppress(OSError):
        print(f"tacit: {what}", file=sys.stderr, flush=True)


class OwnLog:
    """The log of a node about itself: links, platforms, certificates, broken agreements."""

    def __init__(self, path: Path, /, *, platforms: Sequence[str]) -> None:
        self._log = NodeLog(path)
        # Others cause these lines. Without a limit they could fill the disk.
        self._of_strangers = LineLimit(burst=100, per_minute=10)
        self._of_platforms = {name: LineLimit(burst=1000, per_minute=60) for name in platforms}

    def note(self, event: LogEvent, /) -> None:
        """Append a line, unless its platform or strangers have caused too many.

        A full disk does not stop the node here: what must be written down before it is done stands
        in the logs of the agreements.
        """
        limit = self._of_platforms.get(getattr(event, "peer", ""))
        if limit is None and isinstance(event, LinkRejected):
            limit = self._of_strangers
        left_out = limit.admit() if limit is not None else 0
        if left_out is None:
            return
        if left_out:
            event = replace(event, left_out=left_out)
        fields = {k: v for k, v in asdict(event).items() if k not in ("at", "previous")}
        logging.getLogger(LOGGER).info(event.name, extra={"fields": fields})
        try:
            self._log.append(event)
        except LogError as error:
            say(f"{error}; not noted: {event.name} {fields}")
