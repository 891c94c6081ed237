"""The process that nodes on this machine are forked from: it imports what they need once.

`python -m tacit.local.fork_server FD MODULE...` imports the modules, then serves the socket
FD until its other end closes, which the operating system does whatever happens to that process.

Over the socket, one packet each:

| from | packet | descriptors |
| --- | --- | --- |
| server | `[0, null]` when the modules are imported | |
| client | `["throw away", path]`, a folder that is removed when the client has ended | |
| client | `["run", module, arguments, folder, environment]` | input, and output with errors |
| server | `[pid, null]`, or `[null, error]` if there is no room for a process | a pidfd |
| server | `[pid, status]` when a process has ended | |
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

LONGEST_PACKET = 1 << 20


def serve(line: socket.socket, /) -> None:
    """Fork a process for each request and report which have ended, until the client is gone."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    # A handler has to be there for the number to be written; it has nothing to do.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    folders: list[Path] = []
    while True:
        ready = select.select([line.fileno(), woken], [], [])[0]
        if woken in ready:
            os.read(woken, 512)
            while (ended := _reap()) is not None:
                _say(line, *ended)
        if line.fileno() in ready:
            try:
                packet, files, *_ = socket.recv_fds(line, LONGEST_PACKET, 2)
            except ConnectionResetError:
                continue  # the client has ended without reading everything; its packets come next
            if not packet:
                break
            kind, *request = json.loads(packet)
            if kind == "throw away":
                folders.append(Path(request[0]))
            else:
                _fork(line, request, files)
    _remove(folders)


def _remove(folders: Sequence[Path]) -> None:
    # Here, since the client imports this module too and must not wait for certificates.
    from tacit.identity.cluster import LOCAL_PREFIX

    for folder in folders:
        # The name is looked at too, since nothing else in the world should be removed by this.
        if folder.name.startswith(LOCAL_PREFIX):
            shutil.rmtree(folder, ignore_errors=True)


def _say(line: socket.socket, pid: int | None, said: object, *files: int) -> None:
    # A client that is gone is noticed when the next packet is read.
    with suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(line, [json.dumps([pid, said]).encode()], files)


def _reap() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _fork(line: socket.socket, request: Sequence[Any], files: Sequence[int]) -> None:
    try:
        pid = os.fork()
        if not pid:
            line.detach()
            _become(request, files)
        # Here, since until this process waits for it the number can mean no other process.
        watched = os.pidfd_open(pid)
    except OSError as error:
        _say(line, None, f"{error}")
    else:
        _say(line, pid, None, watched)
        os.close(watched)
    finally:
        for file in files:
            os.close(file)


def _become(request: Sequence[Any], files: Sequence[int]) -> NoReturn:
    """Run a module as `python -m` would, with nothing of the server but what it has imported."""
    code: object = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for number, file in enumerate((files[0], files[1], files[1])):
            os.dup2(file, number)
        # The server's end of its socket is among them: while a node held a copy, the client would
        # not notice that the server has ended.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        _draw_apart()
        module, arguments, folder, environment = request
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [module, *arguments]
        # Otherwise runpy warns that the module was imported before it is run.
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


def _draw_apart() -> None:
    """Seed what would otherwise draw the same in every forked process.

    OpenSSL, libsodium and Python's own generators notice a fork by themselves; NumPy's global one
    does not. Nodes draw nothing from it, but what they import might.
    """
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def main(arguments: Sequence[str], /) -> None:
    """Import the modules and serve."""
    with socket.socket(fileno=int(arguments[0])) as line:
        gc.disable()
        for name in arguments[1:]:
            import_module(name)
        # What all nodes share stays shared: looking for garbage in it would copy it for each.
        gc.freeze()
        gc.enable()
        _say(line, 0, None)
        serve(line)


if __name__ == "__main__":
    main(sys.argv[1:])
