"""Three operators of nodes, a platform and three participants, by the documents alone.

The commands of docs/first-run.md are run as they stand, in a shell and a folder of each party. What
is set is what the page says that everybody sets. `make first-run`; `make test` checks in
a second that all commands exist.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli.main import make_app
from tacit.local import free_addresses
from tests.support.document_commands import Commands, commands
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "first-run.md").read_text()
NODES, PARTICIPANTS = ("alpha", "beta", "gamma"), ("north", "south", "west")
PARTIES = (*NODES, "desk", *PARTICIPANTS)
SECONDS = 600


@contextmanager
def shells(folder: Path) -> Iterator[dict[str, dict[str, str]]]:
    """The environment of each party; what they leave running is stopped at the end."""
    post = folder / "post"
    post.mkdir()
    *nodes, platform = free_addresses(4)
    common = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "POST": "../post",
        "PLATFORM": platform,
    }
    made = {}
    for name in PARTIES:
        home = folder / name
        home.mkdir()
        made[name] = {**common, "HOME": str(home), "NAME": name}
    for name, address in zip(NODES, nodes, strict=True):
        made[name]["ADDRESS"] = address
    yield made


def typed(block: Commands, name: str, folder: Path, environment: dict[str, str]) -> tuple[str, int]:
    """What a party's shell says to a block, and the session that it leaves behind."""
    said = folder / f"{name}.said"
    with said.open("w") as file:
        shell = subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail", "-c", block.text],
            cwd=folder / name,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        code = shell.wait(SECONDS)
    assert code == 0, f"{block.heading}, {name}:\n{block.text}\n{said.read_text()}"
    return said.read_text(), shell.pid


@pytest.mark.processes
@pytest.mark.skipif("TACIT_FIRST_RUN" not in os.environ, reason="make first-run")
def test_the_first_run_by_the_document_alone(tmp_path: Path) -> None:
    sessions, said = [], dict.fromkeys(PARTIES, "")
    with shells(tmp_path) as environments:
        try:
            for block in commands(PAGE, PARTIES):
                for name in block.parties:
                    shown, session = typed(block, name, tmp_path, environments[name])
                    said[name] += shown
                    sessions.append(session)
        finally:
            for session in sessions:
                with suppress(ProcessLookupError):
                    os.killpg(session, signal.SIGTERM)
    together = {re.search(r"all together: (.+)", said[name])[1] for name in (*NODES, "desk")}  # type: ignore[index]
    assert len(together) == 1
    plans = [(tmp_path / name / "plan.csv").read_text() for name in PARTICIPANTS]
    slots = [line.split(",")[1] for line in plans[0].splitlines()[1:]]
    assert sorted(slots) == ["8:00", "8:10", "8:20", "8:30", "8:40", "8:50"]
    for name, plan in zip(PARTICIPANTS, plans, strict=True):
        assert plan.count("yours") == 2, plan
        assert said[name].endswith("everything is as it was signed\n"), said[name]
    for secret in (tmp_path / "post").iterdir():
        assert "PRIVATE" not in secret.read_text(), secret


def test_every_command_of_the_document_exists() -> None:
    blocks = [*commands(PAGE, PARTIES)]
    assert {name for block in blocks for name in block.parties} == set(PARTIES)
    text = "\n".join(block.text for block in blocks)
    lines = re.findall(r"(?:^|\$\(|  )(tacit [^\n|>&;)]+)", text, re.MULTILINE)
    assert len(lines) > 15
    for line in lines:
        words = shlex.split(line)[1:]
        depth = 3 if words[:2] == ["participant", "keys"] else 2
        shown = CliRunner().invoke(
            make_app(words[0]), [*words[:depth], "--help"], env={"COLUMNS": "300"}
        )
        assert shown.exit_code == 0, line
        for option in [word for word in words if word.startswith("--")]:
            assert option in shown.output, f"{line}: {option}"
