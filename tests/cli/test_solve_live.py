"""`tacit solve` on a terminal; test_engine_commands.py interrupts it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from tacit.cli.solve_options import parse_disclosures
from tacit.errors import InputError

pytestmark = pytest.mark.processes

SIMULATED = ("--engine", "simulated")
"""Nodes take long to start."""


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
    shown = [tacit_script, "solve", "kroD100", "--disclose", "none", "--deadline", "700ms"]
    code, seen = on_a_terminal(shown)
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
