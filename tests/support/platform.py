"""The real platform behind its real web server with TLS, in a thread; it can be made to lie.

Execution is a stand-in. Answers are honest unless a test overrides one of them in `Lies.tamper`.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from fastapi import FastAPI
from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.agreement import canonical, read_agreement
from tacit.local import free_addresses
from tacit.records import encode_entry, read_ledger
from tacit.service.server.serve import ImpatientLoop, make_server
from tacit.service.server.settings import Settings, load_settings, write_settings
from tacit.service.storage import Database

STOP_SECONDS = 60.0
"""A server that nobody asks any more stops within this time on any machine."""
Tamper = Callable[[Any], Any]


def generous(folder: Path, cluster: Path) -> Settings:
    """Settings of a platform at a free port that limit nobody."""
    listen = free_addresses(1)[0]
    settings = load_settings(write_settings(folder, clusters=[cluster], listen=listen, url=None))
    # Its tables are there; the steps that make them have tests of their own.
    tables = settings.place("tacit.db")
    tables.touch(mode=0o600)
    tables.write_bytes(new_database())
    return replace(settings, requests_per_minute=10**6, anonymous_requests_per_minute=10**6)


@cache
def new_database() -> bytes:
    """The file of a database that nobody has written to."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tacit.db"
        Database(f"sqlite:///{path}").close()
        return path.read_bytes()


@contextmanager
def listening(settings: Settings, app: FastAPI) -> Iterator[None]:
    """Serve an app of `make_app` for as long as the block lasts."""
    server = make_server(settings, app)

    def serve() -> None:
        with asyncio.Runner(loop_factory=ImpatientLoop) as runner:
            runner.run(server.serve())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        until = time.monotonic() + 120
        while not server.started and time.monotonic() < until and thread.is_alive():
            time.sleep(0.01)
        assert server.started
        yield
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "it does not stop:\n" + stacks()


def stacks() -> str:
    """Return what every thread of this process is doing, and every task of its event loops."""
    named = {thread.ident: thread.name for thread in threading.enumerate()}
    shown = [
        f"thread {named.get(ident)}:\n" + "".join(traceback.format_stack(frame)[-12:])
        for ident, frame in sys._current_frames().items()
    ]
    # Some objects are proxies of what is gone, and answer no question about their class.
    tasks = [each for each in gc.get_objects() if type(each) is asyncio.Task]
    return "\n".join([*shown, *(awaited(each) for each in tasks if not each.done())])


def awaited(task: asyncio.Task[Any]) -> str:
    """Return what a task waits for, from its own coroutine to the innermost one."""
    loop, chain = task.get_loop(), list[str]()
    waits_in: Any = task.get_coro()
    while waits_in is not None:
        frame = getattr(waits_in, "cr_frame", None) or getattr(waits_in, "gi_frame", None)
        chain.append(
            repr(waits_in) if frame is None else f"{frame.f_code.co_qualname}:{frame.f_lineno}"
        )
        waits_in = getattr(waits_in, "cr_await", None) or getattr(waits_in, "gi_yieldfrom", None)
    timers = sorted(each.when() - loop.time() for each in getattr(loop, "_scheduled", ()))
    return f"{task.get_name()}: {' > '.join(chain)[:600]}; timers due in {timers[:4]} s"


class Lies:
    """Remembers every byte that the app was sent, and changes what it answers.

    `tamper` is by the last part of a path, such as `ledger`; a lie gets what the honest platform
    would have answered.
    """

    def __init__(self, app: ASGIApp, *, tamper: dict[str, Tamper], received: list[bytes]) -> None:
        self.app, self.tamper, self.received = app, tamper, received

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = await _whole(receive)
        self.received += [body, repr(scope["headers"]).encode()]

        unread: list[Message] = [{"type": "http.request", "body": body}]

        async def again() -> Message:
            return unread.pop() if unread else await receive()

        what = scope["path"].rpartition("/")[2]
        if what not in self.tamper or (scope["method"], what) == ("POST", "submission"):
            await self.app(scope, again, send)
            return
        said: list[Message] = []

        async def keep(message: Message) -> None:
            said.append(message)

        await self.app(scope, again, keep)
        await self._tell(what, said, send)

    async def _tell(self, what: str, said: list[Message], send: Send) -> None:
        start, told = said[0], b"".join(each.get("body", b"") for each in said[1:])
        if start["status"] < 400:
            told = changed(what, told, self.tamper[what])
        headers = [each for each in start["headers"] if each[0].lower() != b"content-length"]
        await send({**start, "headers": [*headers, (b"content-length", b"%d" % len(told))]})
        await send({"type": "http.response.body", "body": told})


async def _whole(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def changed(what: str, honest: bytes, lie: Tamper) -> bytes:
    """An answer as a lie has it: about an `Agreement`, lists, or plain JSON."""
    if what == "agreement":
        shown = lie(read_agreement(honest))
        return shown if isinstance(shown, bytes) else canonical(shown)
    if what == "ledger":
        return b"".join(map(encode_entry, lie(read_ledger(honest))))
    answer = msgspec.json.decode(honest)
    if isinstance(answer, dict) and "items" in answer:
        return msgspec.json.encode({**answer, "items": lie(answer["items"])})
    return msgspec.json.encode(lie(answer))
