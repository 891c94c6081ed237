"""Every command's help ends with examples, whose words are a command line that is understood."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from tacit.cli.main import make_app
from tacit.cli.printing import terminal


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
