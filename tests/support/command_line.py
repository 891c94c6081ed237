"""The command line in the test's own process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.cli.main import main


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


Tacit = Callable[..., Said]


def commands_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *before: str
) -> Tacit:
    """Runs commands that begin with the words `before`."""

    def run(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["tacit", *before, *map(str, words)])
        monkeypatch.setenv("COLUMNS", "300")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        code = ended.value.code
        return Said(code if isinstance(code, int) else 0, said.out, said.err)

    return run
