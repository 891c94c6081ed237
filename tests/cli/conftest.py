"""Running the command in this process, which saves the time of a new interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.cli.main import main
from tests.conftest import simulated_words

RunTacit = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_here(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunTacit:
    """Call the command's `main` in this process."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = ["tacit", *simulated_words(arguments)]
        monkeypatch.setattr(sys, "argv", command)
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(command, int(ended.value.code or 0), *shown)

    return run
