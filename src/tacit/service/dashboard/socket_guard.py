"""Every message on the pages' web socket must be about a page of the session that opened it.

NiceGUI takes a page's number in a message for a proof; these numbers are in addresses, though,
which a proxy may write down.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from nicegui import core

from tacit.service.dashboard.gate import SESSION, has_page

MESSAGES = ("handshake", "event", "javascript_response", "ack", "log")


def guard_socket() -> None:
    """Put a check before all that NiceGUI does with messages from browsers."""
    handlers = core.sio.handlers["/"]
    for name in MESSAGES:
        core.sio.on(name, _guarded(handlers[name]))


def _guarded(handle: Callable[..., Any]) -> Callable[..., Any]:
    async def guarded(socket_id: str, message: object) -> object:
        scope = core.sio.get_environ(socket_id)["asgi.scope"]
        asked = message.get("client_id") if isinstance(message, dict) else None
        if scope.get(SESSION) is None or not has_page(scope[SESSION], asked):
            return False
        done = handle(socket_id, message)
        return await done if isawaitable(done) else done

    return guarded
