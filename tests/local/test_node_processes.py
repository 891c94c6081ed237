"""Forked processes are as new interpreters would be, and none outlives who started it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.errors import EngineError
from tacit.local import node_processes
from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import UNKNOWN_CODE, ForkServer, NodeProcess, spawn
from tests.support.repository import ROOT

pytestmark = pytest.mark.processes
DRAWING = "tests.local.drawing"
PATIENCE = 120.0


@pytest.fixture
def server() -> Iterator[ForkServer]:
    server = ForkServer(DRAWING, folder=ROOT)
    yield server
    server.close()


def start(server: ForkServer, folder: Path, *words: str, module: str = DRAWING) -> NodeProcess:
    with (folder / "errors").open("ab") as errors:
        return server.start(module, words, errors)


def ended(process: NodeProcess) -> int:
    code = process.wait(PATIENCE)
    assert process.stdin is not None
    process.stdin.close()
    return code


def wait_for(path: Path) -> dict[str, object]:
    until = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_bytes().endswith(b"}")):
        assert time.monotonic() < until
        time.sleep(0.01)
    found: dict[str, object] = json.loads(path.read_text())
    return found


def wait_until_gone(pids: dict[int, int]) -> None:
    """Wait for the end of processes, by a pidfd of each."""
    until = time.monotonic() + PATIENCE
    for pid, watched in pids.items():
        assert select.select([watched], [], [], until - time.monotonic())[0], f"{pid} goes on"
        os.close(watched)


def test_forked_processes_draw_apart(server: ForkServer, tmp_path: Path) -> None:
    started = [start(server, tmp_path, str(tmp_path / f"{k}")) for k in range(3)]
    assert [ended(process) for process in started] == [7, 7, 7]
    drawn = [json.loads((tmp_path / f"{k}").read_text())["drawn"] for k in range(3)]
    for source in drawn[0]:
        assert len({each[source] for each in drawn}) == 3, source


def test_a_forked_process_has_what_it_was_given_and_nothing_else(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.open()
    monkeypatch.setenv("TACIT_TEST_WORD", "later than the server")
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "secret"
    with here.open("w") as held:
        os.set_inheritable(held.fileno(), True)
        first = start(server, tmp_path, "first", "stay")
        process = start(server, tmp_path, "about")
        assert ended(process) == 7
    about = json.loads((tmp_path / "about").read_text())
    # The fourth is that of the list itself.
    assert about["open"] == [0, 1, 2, 3]
    assert about["argv"][1:] == ["about"]
    assert about["pid"] == process.pid
    assert about["session"] == process.pid != os.getsid(0)
    assert about["environment"] == "later than the server"
    assert about["folder"] == str(tmp_path)
    first.kill()
    assert ended(first) == -signal.SIGKILL


@pytest.mark.parametrize("forked", [True, False])
def test_nodes_that_share_a_machine_have_one_thread_for_algebra(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: bool
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    about = tmp_path / "about"
    if forked:
        process = start(server, tmp_path, str(about))
    else:
        monkeypatch.chdir(ROOT)
        with (tmp_path / "errors").open("ab") as errors:
            process = spawn(DRAWING, [str(about)], errors)
    assert ended(process) == 7
    assert json.loads(about.read_text())["threads"] == 1


def test_it_ends_when_its_input_does(server: ForkServer, tmp_path: Path) -> None:
    process = start(server, tmp_path, str(tmp_path / "about"), "stay")
    wait_for(tmp_path / "about")
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    assert process.stdin is not None
    process.stdin.close()
    assert ended(process) == 7
    process.kill()  # which means nobody else
    assert process.poll() == process.returncode == 7


def test_what_it_says_last_is_kept(server: ForkServer, tmp_path: Path) -> None:
    process = start(server, tmp_path, module="tests.local.nowhere")
    assert ended(process) == 1
    assert "tests.local.nowhere" in (tmp_path / "errors").read_text()


def test_processes_go_on_without_the_server(server: ForkServer, tmp_path: Path) -> None:
    process = start(server, tmp_path, str(tmp_path / "about"), "stay")
    wait_for(tmp_path / "about")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    assert process.poll() is None
    process.kill()
    assert ended(process) == UNKNOWN_CODE
    other = start(server, tmp_path, str(tmp_path / "other"))
    assert ended(other) == 7
    assert isinstance(other, subprocess.Popen)


@pytest.mark.parametrize("why", ["no fork", "no module", "another path"])
def test_new_interpreters_stand_in(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = [DRAWING, *(["tests.local.nowhere"] if why == "no module" else [])]
    server = ForkServer(*modules, folder=ROOT)
    if why == "no fork":
        monkeypatch.setattr(node_processes, "_can_fork", lambda: False)
    server.open()
    if why == "another path":
        (tmp_path / "plugin.py").write_text("print('found')")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    try:
        module = "plugin" if why == "another path" else DRAWING
        process = start(server, tmp_path, str(tmp_path / "about"), module=module)
        assert isinstance(process, subprocess.Popen)
        code = ended(process)
        said = (tmp_path / "errors").read_text()
        assert (code, said) == ((0, "found\n") if module == "plugin" else (7, ""))
    finally:
        server.close()


def test_nothing_goes_along_into_a_process_forked_from_this_one() -> None:
    code = (
        "import os; from tacit.local import shared_fork_server as server\n"
        "server().open(); before = server().pid\n"
        "if not os.fork():\n"
        "    assert server().pid is None\n"
        "    server().open(); other = server().pid; server().close()\n"
        "    os._exit(other == before)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]), server().pid == before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "True"], done.stderr


class Misconfigured(LocalCluster):
    """Its second node cannot read its file."""

    def _launch(self, node: int) -> NodeProcess:
        if node == 1:
            (self.folder / "node-1.toml").write_text("node = one\n")
        return super()._launch(node)


def test_a_node_that_cannot_start_says_why() -> None:
    cluster = Misconfigured()
    with pytest.raises(EngineError, match=r"node 1 ended with code \d+: .*node-1\.toml"):
        cluster.__enter__()
    assert (cluster.folder, cluster.processes) == (Path(), [])


def watched(pids: list[int]) -> dict[int, int]:
    return {pid: os.pidfd_open(pid) for pid in pids}


@pytest.mark.parametrize("how", ["killed", "leaves"])
def test_no_process_or_key_outlives_its_parent(how: str) -> None:
    words = [sys.executable, "-m", "tests.local.parent"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as parent:
        assert parent.stdout is not None
        about = json.loads(parent.stdout.readline())
        folder = Path(about["folder"])
        assert (folder / "node-0.key").exists()
        of_theirs = watched([about["server"], *about["nodes"]])
        if how == "killed":
            parent.kill()
        else:
            parent.communicate("leave\n")
        parent.wait(PATIENCE)
        wait_until_gone(of_theirs)
    assert not folder.exists()


def test_a_folder_goes_also_before_there_are_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "tacit-folder"
    kept = tmp_path / "something-else"
    for each in (folder, kept):
        each.mkdir()
        (each / "node-0.key").touch()
    code = (
        "import sys, time; from pathlib import Path\n"
        "from tacit.local import shared_fork_server as server\n"
        "for each in sys.argv[1:]: server().throw_away(Path(each))\n"
        "print(server().pid, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(folder), str(kept)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        of_theirs = watched([int(parent.stdout.readline())])
        parent.kill()
        wait_until_gone(of_theirs)
    assert not folder.exists()
    assert kept.exists()
