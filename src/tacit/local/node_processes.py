"""Starts processes of nodes on this machine: forked from a prepared one, or new interpreters.

A new interpreter spends most of its first second on imports, and a cluster needs three or four of
them at once. `ForkServer` has one process import everything and forks nodes from it. Where that
cannot be, a node is an interpreter of its own; nobody sees a difference but the time it takes.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from tacit.errors import EngineError
from tacit.local.fork_server import LONGEST_PACKET

NODE = "tacit.node.process"
START_SECONDS = 120.0
"""How long a busy machine may take to import what nodes need, or to fork."""
UNKNOWN_CODE = 255
"""The exit code of a process that ended when the server was gone, so that nobody knows it."""
FORKED = "tacit.forked_process"
"""The audit event of a process that is forked, as `subprocess.Popen` raises one of its own."""


class NodeProcess(Protocol):
    """A running process, as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int:
        """Its number."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input; the process ends when this closes."""

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of a signal, once `poll` or `wait` has seen it."""

    def poll(self) -> int | None:
        """Return its exit code if it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends; raises `subprocess.TimeoutExpired`."""

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""

    def kill(self) -> None:
        """End it at once."""


def spawn(module: str, arguments: Sequence[str], errors: BinaryIO, /) -> NodeProcess:
    """Run a module in an interpreter of its own until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=errors,
        stderr=errors,
        # Ctrl-C is for us; the nodes stop when we do.
        start_new_session=True,
        env=_node_environment(),
    )


class ForkServer:
    """Forks processes from one that has imported these modules; that one ends with this process.

    Any thread may use it. It takes nothing along into processes forked from this one.
    """

    def __init__(self, *modules: str, folder: Path | None = None) -> None:
        """`folder` is where it looks for modules that are not installed."""
        self._modules, self._folder = modules, folder
        self._forget()
        reference = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _forget(reference))

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._environment: dict[str, str] = {}
        self._is_ready, self._failed = False, False
        self._codes: dict[int, int] = {}

    @property
    def pid(self) -> int | None:
        """The number of the server, if there is one."""
        return None if self._server is None else self._server.pid

    def open(self) -> None:
        """Start the server, if there is none; returns while it still imports."""
        with self._lock:
            self._open()

    def start(self, module: str, arguments: Sequence[str], errors: BinaryIO, /) -> NodeProcess:
        """Run a module, which says what is wrong in this file, until its input ends."""
        with self._lock:
            self._open()
            line = self._line if self._wait_until_ready() else None
            if line is None or self._environment != _interpreter_environment():
                # A new interpreter may find other modules than the server has found.
                return spawn(module, arguments, errors)
            return self._start(line, module, arguments, errors)

    def throw_away(self, folder: Path, /) -> None:
        """Have this folder removed when this process has ended, whatever ended it."""
        with self._lock:
            self._open()
            if self._line is not None and not self._failed:
                with suppress(OSError):
                    self._line.send(json.dumps(["throw away", str(folder)]).encode())

    def close(self) -> None:
        """End the server; processes that it has forked go on."""
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None
            if self._server is not None:
                atexit.unregister(self.close)
                self._server.kill()
                self._server.wait()
                self._server = None
            self._is_ready = False

    def code_of(self, pid: int, /) -> int:
        """Return the exit code of a process that has ended."""
        with self._lock:
            while pid not in self._codes:
                if self._line is None:
                    return UNKNOWN_CODE
                try:
                    self._receive(self._line)
                except OSError:
                    return UNKNOWN_CODE
            return self._codes.pop(pid)

    def _open(self) -> None:
        if self._server is not None or self._failed:
            return
        if not _can_fork():
            self._failed = True
            return
        self._environment = _interpreter_environment()
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(START_SECONDS)
        with theirs:
            command = [sys.executable, "-m", "tacit.local.fork_server"]
            self._server = subprocess.Popen(
                [*command, str(theirs.fileno()), *self._modules],
                pass_fds=[theirs.fileno()],
                cwd=self._folder,
                # None of the streams of this process: who reads them would wait for the server.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=_node_environment(),
            )
        atexit.register(self.close)

    def _wait_until_ready(self) -> bool:
        """Wait until nodes can be forked; if the server fails, new interpreters will say why."""
        if not self._is_ready and self._line is not None and not self._failed:
            try:
                self._receive(self._line)
                self._is_ready = True
            except OSError:
                self._failed = True
        return self._is_ready and not self._failed

    def _start(
        self, line: socket.socket, module: str, arguments: Sequence[str], errors: BinaryIO
    ) -> NodeProcess:
        request = json.dumps(["run", module, list(arguments), str(Path.cwd()), dict(os.environ)])
        if len(request) > LONGEST_PACKET:
            return spawn(module, arguments, errors)
        sys.audit(FORKED, module)
        read, write = os.pipe()
        with os.fdopen(read, "rb"), ExitStack() as unless_forked:
            stdin = unless_forked.enter_context(os.fdopen(write, "wb"))
            try:
                socket.send_fds(line, [request.encode()], [read, errors.fileno()])
            except OSError:
                self._give_up()
                return spawn(module, arguments, errors)
            try:
                while (forked := self._receive(line)) is None:
                    continue
            except OSError as error:
                # Nobody knows whether a process was forked, so no other may take its place. If
                # there is one it ends, as its input does.
                self._give_up()
                raise EngineError(f"no process could be forked ({error}); try again") from error
            # The node runs: its input stays open until whoever started it closes it.
            unless_forked.pop_all()
        return _Forked(self, *forked, stdin)

    def _give_up(self) -> None:
        """Fork nothing from now on, not even later what was asked for."""
        self._failed = True
        if self._server is not None:
            self._server.kill()

    def _receive(self, line: socket.socket) -> tuple[int, int] | None:
        """Take a packet: a new process with its pidfd, or None if one has ended."""
        packet, files, *_ = socket.recv_fds(line, LONGEST_PACKET, 1)
        if not packet:
            self._failed = True
            raise ConnectionError("the process that nodes are forked from has ended")
        pid, said = json.loads(packet)
        if pid is None:
            raise EngineError(f"no process could be forked ({said}); end some others")
        if said is None:
            return pid, files[0] if files else -1
        self._codes[pid] = os.waitstatus_to_exitcode(said)
        return None


class _Forked:
    """A process that is a child of the server."""

    def __init__(self, server: ForkServer, pid: int, watched: int, stdin: BinaryIO) -> None:
        self._server, self.pid, self.stdin = server, pid, stdin
        self.returncode: int | None = None
        self._watched = watched
        self._unwatch = weakref.finalize(self, os.close, watched)

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        left: float | None = None
        while True:
            if until is not None:
                left = max(0.0, until - time.monotonic())
            code = self._look(left)
            if code is not None:
                return code
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            ended = select.poll()
            ended.register(self._watched, select.POLLIN)
            if ended.poll(None if seconds is None else 1000 * seconds):
                self.returncode = self._server.code_of(self.pid)
                self._unwatch()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            # To this process and to no other: a pidfd means it also when it has ended.
            try:
                signal.pidfd_send_signal(self._watched, sig)
            except ProcessLookupError:
                return

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _forget(reference: weakref.ref[ForkServer]) -> None:
    """Close what a process forked from this one has of a server: it must end with this one."""
    server = reference()
    if server is not None:
        if server._line is not None:
            server._line.close()
        if server._server is not None:
            server._server.returncode = UNKNOWN_CODE  # a child of another process
            atexit.unregister(server.close)
        server._forget()


def _can_fork() -> bool:
    """Whether the system forks safely and names processes by descriptors: Linux since 5.3."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _node_environment() -> dict[str, str]:
    """Return the environment of nodes that share a machine.

    The algebra library would have a thread per core in each of them, which wait for each other at
    several times the computing time. It reads this once, when it is loaded.
    """
    return {"OPENBLAS_NUM_THREADS": "1", **os.environ}


def _interpreter_environment() -> dict[str, str]:
    """What an interpreter reads when it starts, and a forked one does not read again."""
    return {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}


@cache
def shared_fork_server() -> ForkServer:
    """Return the server of this process for nodes."""
    return ForkServer(NODE)
