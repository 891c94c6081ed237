"""Real nodes without the second that each new interpreter takes to import what nodes import.

They are forked from a process that has done so once: `python -m tests.support.nursery`. Each is a
process of its own, runs its module as `python -m` would, and has a pipe to whoever started it.
Tests of commands start nodes as users do.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from tests.support.repository import ROOT

NODE = "tacit.engine.node.process"
LONGEST = 1 << 20
POLL_SECONDS = 0.002


class Forked:
    """What `subprocess.Popen` would be of the process, as far as clusters and tests use it."""

    def __init__(self, nursery: Nursery, pid: int, stdin: BinaryIO) -> None:
        self._nursery, self.pid, self.stdin = nursery, pid, stdin
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ended(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(NODE, timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        # The process may end, and the nursery reap it, between the question and the signal.
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """Starts processes of nodes; its own begins with the first of them."""

    def __init__(self) -> None:
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._path = os.environ.get("PYTHONPATH")
        self._codes: dict[int, int] = {}
        self._turn = threading.Lock()

    def start(
        self, module: str, arguments: Sequence[str], errors: BinaryIO
    ) -> subprocess.Popen[bytes]:
        """Run a module, which says what is wrong in this file, until its input ends."""
        if os.environ.get("PYTHONPATH") != self._path:
            # It shall find something that the nursery has not found.
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        sys.audit("subprocess.Popen", sys.executable, ["-m", module], None, None)
        with self._turn:
            read, write = os.pipe()
            asked = json.dumps([module, list(arguments), str(Path.cwd()), dict(os.environ)])
            line = self._open()
            socket.send_fds(line, [asked.encode()], [read, errors.fileno()])
            os.close(read)
            while (pid := self._hear(line)) is None:
                continue
        return cast("subprocess.Popen[bytes]", Forked(self, pid, os.fdopen(write, "wb")))

    def _open(self) -> socket.socket:
        if self._line is None:
            self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.nursery", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            theirs.close()
        return self._line

    def _hear(self, line: socket.socket) -> int | None:
        """The number of a new process, or None if one has ended."""
        said = line.recv(LONGEST)
        assert said, "the nursery of nodes has ended"
        pid, status = json.loads(said)
        if status is None:
            return int(pid)
        self._codes[pid] = os.waitstatus_to_exitcode(status)
        return None

    def ended(self, pid: int) -> int | None:
        """With which code a process has ended, if it has."""
        with self._turn:
            line = self._open()
            while select.select([line], [], [], 0)[0]:
                self._hear(line)
            return self._codes.get(pid)

    def close(self) -> None:
        if self._line is not None and self._process is not None:
            self._line.close()
            self._process.wait()


@cache
def nursery() -> Nursery:
    """The one of this test process."""
    return Nursery()


def serve(line: socket.socket) -> None:
    """Fork what is asked for, and tell what has ended, until nobody asks any more."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready = select.select([line.fileno(), woken], [], [])[0]
        if woken in ready:
            os.read(woken, 512)
            for pid, status in iter(_reap, None):
                line.send(json.dumps([pid, status]).encode())
        if line.fileno() in ready:
            asked, files, *_ = socket.recv_fds(line, LONGEST, 2)
            if not asked:
                return
            if not (pid := os.fork()):
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (line.detach(), woken, wake):
                    os.close(each)
                _become(asked, files)
            for each in files:
                os.close(each)
            line.send(json.dumps([pid, None]).encode())


def _reap() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _become(asked: bytes, files: list[int]) -> NoReturn:
    code: object = 1
    try:
        os.setsid()
        for number, file in enumerate((files[0], files[1], files[1])):
            os.dup2(file, number)
        for file in files:
            os.close(file)
        module, arguments, folder, environment = json.loads(asked)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [module, *arguments]
        sys.modules.pop(module, None)
        runpy.run_module(module, run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _prepare() -> None:
    """Import what nodes import, and load the kernels with which they follow searches."""
    from tacit.problems import generate_assignment, generate_tour
    from tacit.search import PRESETS, warm_up

    importlib.import_module(NODE)
    for name, parameters in PRESETS.items():
        several = 2 if parameters.algorithm == "nsga2" else 1
        is_tour = name.endswith("tsp")
        warm_up(
            generate_tour(1, cities=4)
            if is_tour
            else generate_assignment(1, rows=3, objectives=several),
            parameters,
        )


if __name__ == "__main__":
    gc.disable()
    _prepare()
    # What all nodes share stays shared: looking for garbage in it would copy it for each.
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=int(sys.argv[1])) as given:
        serve(given)
