"""`tacit solve` on a terminal; test_nodes.py interrupts it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys

import pytest
from rich.console import Console

from tacit.cli.solve import parse_disclosures
from tacit.cli.solve_display import LiveProgress
from tacit.errors import InputError
from tacit.problems import Tour, generate_assignment
from tacit.runs import Limits, Progress
from tests.runs.clock import DrivenClock

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
        code = process.wait(timeout=240)
    finally:
        process.kill()
        os.close(ours)
    return code, seen.decode(errors="replace")


def test_a_terminal_sees_generation_best_and_time_left(tacit_script: str) -> None:
    shown = [tacit_script, "solve", "kroD100", "--disclose", "none", "--deadline", "700ms"]
    code, seen = on_a_terminal(shown)
    assert code == 0
    # However slow the machine is: the first generation is waited for.
    assert re.search(r"generation \d+, best \d+, \d+ms left", seen)
    assert "preparing the search" in seen
    assert "stopped by deadline" in seen


def test_a_terminal_sees_every_generation_that_takes_long_enough() -> None:
    """With no time between drawings, all of them."""
    program = (
        "from tacit.cli import main, solve_display\nsolve_display.REFRESH_SECONDS = 0.0\nmain()\n"
    )
    words = ["solve", "kroD100", "--disclose", "none", "--generations", "5", *SIMULATED]
    code, seen = on_a_terminal([sys.executable, "-c", program, *words])
    assert code == 0
    shown = re.findall(r"generation (\d+), best \d+", seen)
    assert {int(number) for number in shown} == set(range(6))


def test_the_line_is_drawn_again_after_a_while_and_not_before(
    small_tour: Tour, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, drawn = DrivenClock(monkeypatch), io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=120)
    with LiveProgress(console, small_tour, Limits(deadline=0.7)) as live:
        for generation in range(8):
            live.observe(Progress(generation=generation, seconds=clock.since, best=(-90,)))
            clock.advance(0.06)
    shown = re.findall(r"generation (\d+), best 90, (\d+ms) left", drawn.getvalue())
    assert list(dict.fromkeys(shown)) == [
        ("0", "700ms"),
        ("2", "580ms"),
        ("4", "460ms"),
        ("6", "340ms"),
    ]


def test_the_line_has_the_iteration_of_a_sealed_assignment_and_how_much_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, drawn = DrivenClock(monkeypatch), io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=120)
    with LiveProgress(console, generate_assignment(1, rows=3), Limits(deadline=60.0)) as live:
        for generation, iteration in ((10, None), (20, None), (30, 10), (70, 50)):
            live.observe(
                Progress(
                    generation=generation, seconds=1.0, best=(None,), iteration=iteration, steps=140
                )
            )
            clock.advance(0.2)
        done = live.share_done
    shown = re.findall(r"(generation|iteration) (\d+), no value is disclosed", drawn.getvalue())
    assert list(dict.fromkeys(shown)) == [
        ("generation", "10"),
        ("generation", "20"),
        ("iteration", "10"),
        ("iteration", "50"),
    ]
    assert done == 0.5


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
        timeout=240,
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
