"""A node is replaced by docs/replace-a-node.md, with its commands as they stand.

Three operators and a platform have a cluster; one node is lost and another comes. `make first-run`;
`make test` checks in a moment that all commands exist.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli.main import make_app
from tacit.identity.public_half import new_node, new_platform
from tacit.local import free_addresses
from tacit.node.store import Store
from tests.conftest import RunTacit
from tests.support.document_commands import commands
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "replace-a-node.md").read_text()
OLD, NEW = ("alpha", "beta", "gamma"), ("alpha", "beta", "delta")
PARTIES = (*NEW, "desk")
SECONDS = 300


def environment(folder: Path, name: str, address: str) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(folder / name),
        "POST": "../post",
        "NAME": name,
        "ADDRESS": address,
    }


def typed(text: str, home: Path, variables: dict[str, str]) -> str:
    said = home.parent / f"{home.name}.said"
    with said.open("a") as file:
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", text],
            cwd=home, env=variables, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            timeout=SECONDS, start_new_session=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, f"{home.name}:\n{text}\n{said.read_text()}"
    return said.read_text()


START = "tacit node run --config node/node.toml 2>> node.log & echo $! > node.pid"


@pytest.mark.processes
@pytest.mark.skipif("TACIT_FIRST_RUN" not in os.environ, reason="make first-run")
def test_a_node_is_replaced_by_the_document_alone(tmp_path: Path, run_here: RunTacit) -> None:
    addresses = dict(zip((*OLD, "delta"), free_addresses(4), strict=True))
    post = tmp_path / "post"
    post.mkdir()
    for name in OLD:
        new_node(tmp_path / name / "node", name, addresses[name])
    new_platform(tmp_path / "desk" / "cluster", "desk")
    for half in (*tmp_path.glob("*/node/*.public.toml"), *tmp_path.glob("*/cluster/*.public.toml")):
        (post / half.name).write_text(half.read_text())
    (tmp_path / "delta").mkdir()
    halves = sorted(post.iterdir())
    for folder in (*(tmp_path / name / "node" for name in OLD), tmp_path / "desk" / "cluster"):
        assert run_here("cluster", "join", folder, *halves).returncode == 0
    shells = {
        name: environment(tmp_path, name, addresses.get(name, "")) for name in (*PARTIES, "gamma")
    }
    try:
        for name in OLD:
            typed(START, tmp_path / name, shells[name])
        trial = next(block.text for block in commands(PAGE, PARTIES) if "solve" in block.text)
        typed(trial, tmp_path / "desk", shells["desk"])
        stop(tmp_path / "gamma", signal.SIGKILL)
        said = dict.fromkeys(PARTIES, "")
        for block in commands(PAGE, PARTIES):
            for name in block.parties:
                said[name] = typed(block.text, tmp_path / name, shells[name])
        joint = {re.findall("all together: (.+)", said[name])[-1] for name in PARTIES}
        assert len(joint) == 1
        result = json.loads((tmp_path / "desk" / "trial-result.json").read_text())
        assert sorted(result["plan"]) == [*range(6)]
        (folder,) = (tmp_path / "delta" / "node" / "delta.data").glob("*/agreement.json")
        agreement = Store(folder.parent).agreement
        assert agreement.nodes[2].host + ":" + str(agreement.nodes[2].port) == addresses["delta"]
        # The old one comes back, and nobody takes it in.
        typed(START, tmp_path / "gamma", shells["gamma"])
        log = tmp_path / "alpha" / "node" / "alpha.data" / "log.jsonl"
        until = time.monotonic() + SECONDS
        while '"turned away"' not in log.read_text():
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        for name in (*NEW, "gamma"):
            with suppress(OSError, ValueError):
                stop(tmp_path / name, signal.SIGTERM)


def stop(home: Path, how: signal.Signals) -> None:
    os.kill(int((home / "node.pid").read_text()), how)


def test_every_command_of_the_document_exists() -> None:
    blocks = [*commands(PAGE, PARTIES)]
    assert {name for block in blocks for name in block.parties} == set(PARTIES)
    text = "\n".join(block.text for block in blocks)
    lines = re.findall(r"^(tacit [^\n|>&;)]+)", text, re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        words = shlex.split(line)[1:]
        depth = 1 if words[0] == "solve" else 2
        shown = CliRunner().invoke(
            make_app(words[0]), [*words[:depth], "--help"], env={"COLUMNS": "300"}
        )
        assert shown.exit_code == 0, line
        for option in [word for word in words if word.startswith("--")]:
            assert option in shown.output, f"{line}: {option}"
