"""Mistakes in options are said before anything is computed, and shells complete commands."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tacit.cli.main import STUDIES, main
from tacit.cli.printing import check_writable
from tacit.errors import InputError
from tests.conftest import RunTacit
from tests.support.repository import ROOT


def test_a_result_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    check_writable(tmp_path / "result.json")
    with pytest.raises(InputError, match="there is no folder no-folder; create it"):
        check_writable(Path("no-folder/result.json"))
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        check_writable(tmp_path)


@pytest.mark.parametrize("command", STUDIES)
def test_commands_of_the_studies_say_where_they_are_when_they_are_not_here(
    command: str, monkeypatch: pytest.MonkeyPatch, run_here: RunTacit
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "studies":
            monkeypatch.delitem(sys.modules, name)
    hidden = (ROOT, Path.cwd())
    monkeypatch.setattr(
        sys, "path", [each for each in sys.path if Path(each).resolve() not in hidden]
    )
    done = run_here(command, "--help")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "pip install -e '.[studies]'" in done.stderr
    listed = run_here("--help")
    assert listed.returncode == 0
    assert not re.search(rf"^\W*{command}\b", listed.stdout, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "asked",
    [
        {"COMP_WORDS": "tacit participant re", "COMP_CWORD": "2", "_TACIT_COMPLETE": "bash"},
        {"_TYPER_COMPLETE_ARGS": "tacit participant re", "_TACIT_COMPLETE": "zsh"},
        {
            "_TYPER_COMPLETE_ARGS": "tacit participant re",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TACIT_COMPLETE": "fish",
        },
    ],
    ids=lambda asked: asked["_TACIT_COMPLETE"],
)
def test_shells_complete_commands(
    asked: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = completed(asked, monkeypatch, capsys)
    assert re.findall(r"\b(review|result|runs)\b", said)[:2] == ["review", "result"]
    assert "runs" not in said.split()


def test_shells_complete_runs_that_were_signed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in ("r-one", "r-two"):
        (tmp_path / "tacit" / "runs" / run).mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked = {"COMP_WORDS": "tacit participant log r-t", "COMP_CWORD": "3"}
    assert completed({**asked, "_TACIT_COMPLETE": "bash"}, monkeypatch, capsys) == "r-two\n"


def completed(
    asked: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What the command answers a shell."""
    for name, value in asked.items():
        monkeypatch.setenv(name, f"complete_{value}" if name == "_TACIT_COMPLETE" else value)
    monkeypatch.setattr(sys, "argv", ["tacit"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out
