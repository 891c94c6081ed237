"""Mistakes at the command line, what the system refuses, completion, and examples in help."""

from __future__ import annotations

import errno
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text

from tacit.cli.main import STUDIES, main, make_app
from tacit.cli.printing import check_writable, terminal
from tacit.errors import InputError
from tests.conftest import RunTacit
from tests.support.repository import ROOT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("slove", "there is no command slove; did you mean solve? See tacit --help"),
        ("solve a --dedline 3s", "there is no option --dedline; did you mean --deadline? See"),
        ("solve a --seed x", "'--seed': give a whole number; see tacit solve --help"),
        ("solve a --local-nodes 7", "'--local-nodes': give at most 4; see"),
        ("bench engine --population 0", "'--population': give at least 1; see"),
        (
            "keys rotate a.toml now",
            "'step': 'now' is not one of 'prepare', 'switch', 'finish'; see",
        ),
        ("run list extra", "leave out what is too much: extra; see tacit run list --help"),
        ("run new --like", "give a value after --like; see"),
        ("cluster join", "give FOLDER: your folder, of node init or cluster init; see"),
        ("cluster join desk", "give FILES: the public halves of all others; see"),
        ("node run", "give --config: the node's file, made by"),
    ],
)
def test_a_wrong_command_line_is_told_what_to_do(run_here: RunTacit, words: str, said: str) -> None:
    done = run_here(*words.split())
    assert done.returncode == 2
    assert not done.stdout
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/root/x"),
            "tacit: /root/x: Permission denied; use a file or folder that you may use, or have "
            "its owner let you\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "tacit: No space left on device; make room on the disk\n",
        ),
    ],
)
def test_the_system_says_no(
    run_here: RunTacit, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tacit.cli.instance.load_problem", refuse)
    done = run_here("instance", "show", "kroD100")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_ctrl_c_is_said_in_one_line(run_here: RunTacit, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.cli.instance.load_problem", interrupt)
    done = run_here("instance", "show", "kroD100")
    assert (done.returncode, done.stderr) == (130, "tacit: interrupted before it was done\n")


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


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def examples(epilog: str) -> list[list[str]]:
    """The command lines in an epilog, without what a shell or a reader takes."""
    text = epilog.replace("\\[", "[")
    marked = re.findall(r"\[bold\](tacit .*?)\[/bold\]", text)
    lines = marked or [line for line in text.splitlines() if line.startswith("tacit ")]
    return [shlex.split(re.split(r" > |  +\(", line)[0])[1:] for line in lines]


def test_every_command_has_examples_that_are_understood() -> None:
    group = typer.main.get_command(make_app())
    of_commands = dict(commands(group))
    without = [path for path, command in of_commands.items() if not examples(command.epilog or "")]
    assert without == []
    for path, command in of_commands.items():
        for words in examples(command.epilog or ""):
            # An example may begin with the command before it; each is parsed by the one it names.
            named = next(each for each in of_commands if tuple(words[: len(each)]) == each)
            assert named == path or path == ("audit",), words
            of_commands[named].make_context(named[-1], words[len(named) :]).close()


def test_no_word_between_colons_becomes_a_picture() -> None:
    group = typer.main.get_command(make_app())
    for path, command in commands(group):
        texts = [command.help, command.epilog, *(each.help for each in command.params)]
        for text in filter(None, texts):
            drawn = Text.from_markup(text).plain
            assert drawn == Text.from_markup(text, emoji=False).plain, path
    console = terminal()
    with console.capture() as captured:
        console.print("pareto:top:5")
    assert captured.get() == "pareto:top:5\n"
