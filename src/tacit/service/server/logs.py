"""Structured logs: one JSON object per line, without tokens, codes or anything else secret."""

from __future__ import annotations

import logging
import traceback

import msgspec

from tacit.service.access.credentials import without_secrets


class JsonLines(logging.Formatter):
    """A record as one line of JSON; `extra={"fields": {...}}` adds fields.

    >>> record = logging.LogRecord("tacit", 20, "", 0, "token tct_abc", None, None)
    >>> "tct_" in JsonLines().format(record)
    False
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return without_secrets(msgspec.json.encode(line, enc_hook=str).decode())


def names_no_page(record: logging.LogRecord, /) -> bool:
    """Leave out the web server's lines on web sockets, whose queries name pages that are open.

    >>> said = '%s - "WebSocket %s" [accepted]'
    >>> names_no_page(logging.LogRecord("uvicorn.error", 20, "", 0, said, (), None))
    False
    """
    return '"WebSocket ' not in str(record.msg)


def set_up_logs() -> None:
    """Have the platform and its web server log to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    handler.addFilter(names_no_page)
    for name in ("tacit", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(logging.INFO)
        logger.propagate = name == "uvicorn.error"
