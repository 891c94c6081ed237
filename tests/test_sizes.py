"""Rooms and functions stay of a size that somebody can take in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tacit

ROOT = Path(tacit.__file__).parent
MOST_MODULES, MOST_LINES, MOST_PARAMETERS = 20, 80, 10
COMMANDS = ROOT / "cli"
"""A command has one option per line, and may have many."""
STEPS = ROOT / "service" / "storage" / "migrations" / "versions"
"""What a step does to the tables is written down once, as one list."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    """Each function that is held to a size, by the path of its file and its name."""
    for path in sorted(ROOT.rglob("*.py")):
        if {COMMANDS, STEPS} & set(path.parents):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Function):
                yield f"{path.relative_to(ROOT)}::{node.name}", node


def parameters(function: Function) -> int:
    taken = function.args
    names = [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    extra = [each for each in (taken.vararg, taken.kwarg) if each is not None]
    return len(names) - (names[:1] in (["self"], ["cls"])) + len(extra)


def lines(function: Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_no_room_has_too_many_modules() -> None:
    rooms = {path.parent for path in ROOT.rglob("*.py")}
    counts = {
        str(room.relative_to(ROOT)): len([*room.glob("*.py")]) - (room / "__init__.py").exists()
        for room in rooms
    }
    assert {room: count for room, count in counts.items() if count > MOST_MODULES} == {}


def test_no_function_is_too_long_or_takes_too_much() -> None:
    too_large = {
        name
        for name, function in functions()
        if lines(function) > MOST_LINES or parameters(function) > MOST_PARAMETERS
    }
    assert too_large == set()
