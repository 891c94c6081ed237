"""Count what the code costs a reader, and hold each count by a ceiling.

    python -m tests.test_sizes [--json]

Whoever lowers a count need do nothing more, and may lower the ceiling. Whoever raises a ceiling
says in the commit's message what the reader gets for it. Lines have room for about 500 more, so
that a correction changes nothing here.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import get_args

import tacit
from tacit.records.ledger import Payload
from tacit.search import SearchParameters
from tacit.search.moves import AssignmentParameters, TourParameters
from tests.on_nodes.messages_page import SECTIONS

ROOT = Path(tacit.__file__).parent
TESTS = Path(__file__).parent

CEILINGS: Mapping[str, float] = {
    "modules": 339,  # besides `__init__`
    "packages": 36,
    "lines of src": 83_100,
    "lines of tests": 78_700,
    "longest module": 600,  # the goal; what is shorter may grow up to it
    "longest function": 80,  # besides commands
    "most parameters": 10,  # of the same
    "kinds of log events": 38,
    "kinds of payloads in the ledger": 6,
    "messages": 38,
    "settings of searches": 31,
    "formats": 28,
    "highest number of a format": 1,  # until the first release
    "class names used twice": 0,
    "modules that begin with a riddle": 0,  # What, How, Whether, ... in place of what it does
    "longest import chain": 25,
    "% of lines before the first definition": 12.3,
}
FLOORS: Mapping[str, float] = {"% of lines that are comments": 2.5}

COMMANDS = ROOT / "cli"
"""A command has one option per line, and may have many."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
RIDDLES = ("What ", "How ", "Whether ", "Which ", "Who ", "When ", "Where ", "Why ")
_FORMAT = re.compile(r"[a-z][a-z -]*/([0-9]+)\n?")


@dataclass(frozen=True)
class Module:
    """A module of the package: its path, its lines and its syntax tree."""

    path: Path
    lines: list[str]
    tree: ast.Module

    @property
    def name(self) -> str:
        """The dotted name; that of the package for an `__init__`."""
        parts = self.path.relative_to(ROOT.parent).with_suffix("").parts
        return ".".join(parts[:-1] if self.is_init else parts)

    @property
    def is_init(self) -> bool:
        """Whether it stands for its package."""
        return self.path.stem == "__init__"

    def lines_before_a_definition(self) -> int:
        """How many lines of docstring and imports come before anything is defined."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef | Function):
                decorated = [each.lineno for each in node.decorator_list]
                return min([node.lineno, *decorated]) - 1
            if isinstance(node, ast.Assign | ast.AnnAssign):
                return node.lineno - 1
        return 0


@cache
def modules() -> list[Module]:
    """All modules of the package, read once."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        found.append(Module(path, text.splitlines(), ast.parse(text)))
    return found


def functions() -> Iterator[tuple[str, Function]]:
    """Each function that is held to a size, by the path of its file and its name."""
    for module in modules():
        if COMMANDS in module.path.parents:
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                yield f"{module.path.relative_to(ROOT)}::{node.name}", node


def parameters(function: Function) -> int:
    """How many arguments a function takes, besides `self`."""
    taken = function.args
    names = [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    extra = [each for each in (taken.vararg, taken.kwarg) if each is not None]
    return len(names) - (names[:1] in (["self"], ["cls"])) + len(extra)


def lines(function: Function) -> int:
    """How many lines a function has, decorators not counted."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def formats() -> dict[str, int]:
    """The formats that the code names, such as `tacit-keys/1`, with their numbers."""
    found: dict[str, int] = {}
    for module in modules():
        for node in ast.walk(module.tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and (named := _FORMAT.fullmatch(text)):
                found[text.strip()] = int(named[1])
    return found


def class_names() -> Counter[str]:
    """How often each name of a class is used."""
    return Counter(
        node.name
        for module in modules()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    )


def riddles() -> list[str]:
    """The modules whose docstring begins with a question word, not with what the module does."""
    return [
        module.name
        for module in modules()
        if (ast.get_docstring(module.tree) or "").startswith(RIDDLES)
    ]


def imports() -> dict[str, set[str]]:
    """Which modules of the package each one imports when it is imported itself."""
    names = {module.name for module in modules()}
    found = {}
    for module in modules():
        wanted: set[str] = set()
        for node in module.tree.body:
            if isinstance(node, ast.Import):
                wanted |= {each.name for each in node.names}
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                inside = {f"{node.module}.{each.name}" for each in node.names}
                wanted |= inside & names or {node.module}
        found[module.name] = wanted & names - {module.name}
    return found


def longest_import_chain() -> list[str]:
    """The longest row of modules of which each imports the next."""
    imported = imports()
    longest: dict[str, list[str]] = {}

    def chain(name: str) -> list[str]:
        if name not in longest:
            longest[name] = [name]  # a module on its own way is not followed again
            longest[name] = [name, *max(map(chain, sorted(imported[name])), key=len, default=[])]
        return longest[name]

    return max(map(chain, sorted(imported)), key=len)


def counts() -> dict[str, float]:
    """Everything that is counted, by its name."""
    every = modules()
    named = [module for module in every if not module.is_init]
    listed = {title: len(kinds) for title, _, kinds in SECTIONS}
    total = sum(len(module.lines) for module in every)
    before = sum(module.lines_before_a_definition() for module in every)
    comments = sum(line.lstrip().startswith("#") for module in every for line in module.lines)
    searches = (SearchParameters, TourParameters, AssignmentParameters)
    return {
        "modules": len(named),
        "packages": len(every) - len(named),
        "lines of src": total,
        "lines of tests": sum(len(p.read_text().splitlines()) for p in TESTS.rglob("*.py")),
        "longest module": max(len(module.lines) for module in every),
        "longest function": max(lines(function) for _, function in functions()),
        "most parameters": max(parameters(function) for _, function in functions()),
        "kinds of log events": listed["Log of an agreement"] + listed["A node's own log"],
        "kinds of payloads in the ledger": len(get_args(Payload)),
        "messages": listed["From the coordinator to a node"]
        + listed["From a node to the coordinator"]
        + listed["Between nodes"],
        "settings of searches": len({field.name for kind in searches for field in fields(kind)}),
        "formats": len(formats()),
        "highest number of a format": max(formats().values()),
        "class names used twice": sum(count > 1 for count in class_names().values()),
        "modules that begin with a riddle": len(riddles()),
        "longest import chain": len(longest_import_chain()),
        "% of lines before the first definition": round(100 * before / total, 1),
        "% of lines that are comments": round(100 * comments / total, 1),
    }


def test_nothing_costs_a_reader_more_than_it_did() -> None:
    found = counts()
    assert {*CEILINGS, *FLOORS} == {*found}
    assert {name: found[name] for name, most in CEILINGS.items() if found[name] > most} == {}
    assert {name: found[name] for name, least in FLOORS.items() if found[name] < least} == {}


def main() -> None:
    """Print the table."""
    found = counts()
    if "--json" in sys.argv[1:]:
        print(json.dumps(found, indent=2))
        return
    for name, count in found.items():
        held = f"at most {CEILINGS[name]:,}" if name in CEILINGS else f"at least {FLOORS[name]:,}"
        print(f"{name:40}{count:>10,}   {held}")


if __name__ == "__main__":
    main()
