"""`tacit solve` while it runs: on a terminal, and when somebody presses Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit.cli.solve_options import parse_disclosures
from tacit.errors import InputError

pytestmark = pytest.mark.processes

SIMULATED = ("--engine", "simulated")
"""Nodes take long to start; test_engine_commands.py interrupts a run on nodes."""
LONG_RUN = ("solve", "kroD100", "--disclose", "top:15", "--deadline", "10m", *SIMULATED)
EVERY_GENERATION = ("--checkpoint-every", "1", "--checkpoint")


def test_ctrl_c_returns_the_best_so_far(tacit_script: str, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "result.json", tmp_path / "run.checkpoint"
    process = subprocess.Popen(
        [tacit_script, *LONG_RUN, "--out", str(out), *EVERY_GENERATION, str(checkpoint), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(checkpoint)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, stderr) == (0, "")
    result = json.loads(stdout)
    assert result["stopped"] == "interrupted"
    assert result["generations"] >= 1
    assert sorted(result["plan"]) == list(range(100))
    assert json.loads(out.read_text()) == result


def wait_for(file: Path) -> None:
    """Wait until a run has saved its first checkpoint, so that it is in its loop."""
    given_up = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < given_up, f"{file} was never written"
        time.sleep(0.01)


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """Run with standard output and error on a pseudo-terminal; gives exit code and what it saw."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "NO_COLOR": "1"},
    )
    os.close(theirs)
    seen = b""
    try:
        # A terminal whose other end was closed ends with an error instead of an end of file.
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65536):
                seen += chunk
        code = process.wait(timeout=60)
    finally:
        process.kill()
        os.close(ours)
    return code, seen.decode(errors="replace")


def test_a_terminal_sees_generation_best_and_time_left(tacit_script: str) -> None:
    code, seen = on_a_terminal([tacit_script, "solve", "kroD100", "--deadline", "700ms"])
    assert code == 0
    generations = [int(number) for number in re.findall(r"generation (\d+)", seen)]
    assert len(set(generations)) > 2
    assert re.search(r"best \d+", seen)
    assert re.search(r"\d+ms left", seen)
    assert "preparing the search" in seen
    assert "stopped by deadline" in seen


def test_a_terminal_sees_nothing_but_json_with_json(tacit_script: str) -> None:
    words = ["solve", "kroD100", "--generations", "3", "--json", *SIMULATED]
    code, seen = on_a_terminal([tacit_script, *words])
    assert code == 0
    assert json.loads(seen)["generations"] == 3


def test_python_m_tacit_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "solve", "kroD100", "--generations", "0", *SIMULATED],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "stopped by generations" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("texts", "parsed"),
    [
        ([], None),
        (["top:15"], "top:15"),
        (["pay=order"], {"pay": "order"}),
        (["pay=order", "delay=top:3"], {"pay": "order", "delay": "top:3"}),
        (["a=b=order"], {"a=b": "order"}),
    ],
)
def test_disclosures_for_all_or_by_name(
    texts: list[str], parsed: str | dict[str, str] | None
) -> None:
    assert parse_disclosures(texts) == parsed


@pytest.mark.parametrize("texts", [["order", "order"], ["pay=order", "pay=none"], ["a=order", "x"]])
def test_disclosures_that_do_not_name_their_objective_once_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="each names its objective once"):
        parse_disclosures(texts)
