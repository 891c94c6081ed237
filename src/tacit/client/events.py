"""What happens to runs, as it happens: the platform's event streams."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from tacit.client.connection import Connection
from tacit.errors import OverloadedError, UnreachableError, UnreadableError, WaitingError

SILENT_SECONDS = 30.0
"""The platform sends a line every 10 s, so one that is silent for longer is away."""
PAUSES_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Between attempts to reach a platform that is away; the last goes on."""
LONGEST_EVENT = 1 << 20
log = logging.getLogger("tacit.client")


class RunEvent(msgspec.Struct, frozen=True):
    """Something that happened to a run: `state`, `member`, `progress` or `warning`.

    One of kind `here` says that the platform listens from now on: whatever happened before may
    have been missed, so whoever waits for something looks first.
    """

    kind: str
    id: int = 0
    run: str = ""
    at: float = 0.0
    data: dict[str, Any] = {}


HERE = RunEvent("here")


def watch(
    connection: Connection, path: str, /, *, after: int | None = None, until: float | None = None
) -> Iterator[RunEvent]:
    """The events of a stream after one of them, or from now on; a lost platform is asked again.

    `until` is an instant of `time.monotonic`, after which a `WaitingError` ends it.
    """
    last, pauses = after, iter(PAUSES_SECONDS)
    while True:
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        try:
            for event in _events(connection.stream(path, headers, within=lambda: _left(until))):
                last = max(last or 0, event.id) or None
                pauses = iter(PAUSES_SECONDS)
                yield event
        except (UnreachableError, OverloadedError) as error:
            _check_time(until)
            log.warning("%s", error)
        pause = next(pauses, PAUSES_SECONDS[-1])
        time.sleep(pause if until is None else max(0.0, min(pause, until - time.monotonic())))
        _check_time(until)


def _left(until: float | None) -> float:
    if until is None:
        return SILENT_SECONDS
    return max(0.001, min(SILENT_SECONDS, until - time.monotonic()))


def _check_time(until: float | None) -> None:
    if until is not None and time.monotonic() >= until:
        raise WaitingError("it did not happen in time; ask again, or give a longer --timeout")


def _events(chunks: Iterator[bytes]) -> Iterator[RunEvent]:
    r"""The events in a stream of server-sent events.

    >>> text = b': here\n\nid: 7\nevent: state\ndata: {"run":"r-x","at":1,"state":"running"}\n\n'
    >>> [(each.kind, each.id, each.data) for each in _events(iter([text[:30], text[30:]]))]
    [('here', 0, {}), ('state', 7, {'state': 'running'})]
    """
    unread = b""
    for chunk in chunks:
        *whole, unread = (unread + chunk).split(b"\n\n")
        if len(unread) > LONGEST_EVENT:
            raise UnreadableError("the platform sends an event without an end; tell its operator")
        for block in whole:
            if block == b": here":
                yield HERE
            elif not block.startswith(b":"):
                yield _event(block)


def _event(block: bytes) -> RunEvent:
    fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
    try:
        data = msgspec.json.decode(fields[b"data"], type=dict[str, Any])
        kind, number = fields[b"event"].decode(), int(fields[b"id"])
        return RunEvent(kind, number, str(data.pop("run")), float(data.pop("at")), data)
    except (KeyError, ValueError, TypeError, msgspec.DecodeError):
        raise UnreadableError(
            "the platform sends an event that is not understood here; check that both sides have "
            "the same version of tacit"
        ) from None
