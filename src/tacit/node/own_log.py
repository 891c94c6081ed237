"""Write the node's own log: a hash chain in its data folder, and JSON lines for the operator.

The operator's lines also say how each agreement gets on. They follow from the agreement's own log,
which has the same with its evidence: a line there is written first.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec.structs import asdict, replace

from tacit.errors import LogError
from tacit.records.events import (
    AgreementAccepted,
    AgreementEnded,
    BatchBegun,
    EvaluationBegun,
    InputsFrozen,
    LinkRejected,
    LogEvent,
    Sent,
    StartDrawn,
)
from tacit.records.node_log import LineLimit, NodeLog

LOGGER = "tacit.node"
ECHO_LIMIT = 500
"""Characters of somebody else's text that go into a refusal or a line."""


class OperatorLines(logging.Formatter):
    """A record as one line of JSON; `extra={"fields": {...}}` adds fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
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


def tell_operator(event: str, fields: dict[str, object], /) -> None:
    """Write a line for the operator."""
    logging.getLogger(LOGGER).info(event, extra={"fields": fields})


class Milestone(StrEnum):
    """How far an agreement has come: the `event` of an operator's line."""

    TAKEN = "agreement taken"
    FROZEN = "inputs frozen"
    BEGUN = "run begun"
    OPENED = "plan opened"
    ENDED = "agreement ended"


def milestone_of(event: LogEvent, /) -> tuple[Milestone, dict[str, object]] | None:
    """Return the milestone that a line of an agreement's log marks, and what of it.

    >>> milestone_of(InputsFrozen(1, "", []))
    (<Milestone.FROZEN: 'inputs frozen'>, {'objective': 1})
    >>> milestone_of(AgreementEnded("the platform says that the run is over"))[0].value
    'agreement ended'
    """
    match event:
        case AgreementAccepted():
            return Milestone.TAKEN, {}
        case InputsFrozen(objective=number):
            return Milestone.FROZEN, {"objective": number}
        case StartDrawn() | BatchBegun() | EvaluationBegun():
            return Milestone.BEGUN, {}
        case Sent(kind=kind, about=about) if kind.is_final:
            return Milestone.OPENED, {"what": kind.value, "about": about}
        case AgreementEnded(why=why):
            return Milestone.ENDED, {"why": why}
    return None


class AgreementLines:
    """The operator's lines about one agreement: one for each milestone that it comes to."""

    def __init__(self, agreement: bytes, platform: str, before: Iterable[LogEvent], /) -> None:
        """`before` are the lines of its log that were written before this start of the node."""
        self._fields: dict[str, object] = {
            "agreement": agreement.hex(),
            "peer": f"platform {platform[:16]}",  # as the node calls it in its other lines
        }
        self._told = {str(milestone_of(event)) for event in before}

    def hear(self, event: LogEvent, /) -> None:
        """Tell the operator of a line of the agreement's log, if it is a milestone."""
        found = milestone_of(event)
        # What is sent again, or begins again after a failure, is no news.
        if found is None or str(found) in self._told:
            return
        self._told.add(str(found))
        milestone, fields = found
        tell_operator(milestone.value, {**self._fields, **fields})


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
        tell_operator(event.name, fields)
        try:
            self._log.append(event)
        except LogError as error:
            say(f"{error}; not noted: {event.name} {fields}")
