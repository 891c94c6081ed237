"""The arrows between the rooms of the house point one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import tacit
from tacit.lazy import public_names

ROOT = Path(tacit.__file__).parent

COMMON = {
    *("tacit.errors", "tacit.files", "tacit.jit", "tacit.lazy", "tacit.names", "tacit.plain_text"),
    "tacit.supervisor",
}
"""What stands beside the rooms, for all of them."""
ARROWS: dict[str, set[str]] = {
    "tacit.errors": set(),
    "tacit.lazy": set(),
    "tacit.names": set(),
    "tacit.plain_text": set(),
    "tacit.files": {"tacit.errors"},
    "tacit.jit": {"tacit.errors"},
    "tacit.supervisor": {"tacit.errors"},
    "tacit.mpc": COMMON,
    "tacit.disclosure": COMMON,
    "tacit.problems": COMMON | {"tacit.disclosure"},
    "tacit.search": COMMON | {"tacit.problems"},
    "tacit.equity": COMMON | {"tacit.mpc", "tacit.problems"},
}
_NODE_SIDE_STANDS_ON = COMMON | {
    "tacit.mpc",
    "tacit.equity",
    "tacit.disclosure",
    "tacit.problems",
    "tacit.search.moves",
}
_NODE_SIDE = {
    "identity": [],
    "agreement": ["identity"],
    "records": ["agreement", "identity"],
    "evaluators": [],
    "derived": ["evaluators", "records", "agreement", "identity"],
    # Node and coordinator never import each other.
    "node": ["derived", "records", "agreement", "identity"],
    "coordinator": ["evaluators", "records", "agreement", "identity"],
    "local": ["coordinator", "derived", "evaluators", "records", "agreement", "identity"],
}
for _room, _below in _NODE_SIDE.items():
    ARROWS[f"tacit.{_room}"] = _NODE_SIDE_STANDS_ON | {f"tacit.{b}" for b in _below}
ARROWS["tacit.derived"] |= {"tacit.search"}
ARROWS["tacit.runs"] = COMMON | {
    "tacit.search",
    "tacit.problems",
    "tacit.disclosure",
    *(f"tacit.{room}" for room in _NODE_SIDE),
}
ARROWS["tacit.verify"] = ARROWS["tacit.runs"] | {"tacit.runs", "tacit.mpc", "tacit.equity"}
ARROWS["tacit.audit"] = ARROWS["tacit.runs"] | {"tacit.runs"}
# pymoo's algorithms on our problems.
ARROWS["tacit.pymoo"] = {"tacit.errors", "tacit.problems", "tacit.search", "tacit.runs"}
# It talks to a platform, of which it imports nothing.
ARROWS["tacit.client"] = COMMON
# Before it signs, a participant is told what the audit has measured; afterwards it checks the logs.
ARROWS["tacit.participant"] = ARROWS["tacit.verify"] | {
    "tacit.audit",
    "tacit.client",
    "tacit.verify",
}
COMPOSE_EVERYTHING = ("tacit.service", "tacit.cli", "tacit.__main__")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(("tacit", *parts))
        yield name.removesuffix(".__init__"), path


def is_within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def imported_by(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """Every module of ours that an import statement names, also inside functions.

    A name taken from a package may be a module itself, so it counts as one.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_within(alias.name, "tacit"))
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                parents = parents[: len(parents) - node.level + is_package]
                base = ".".join([*parents, *([base] if base else [])])
            if not is_within(base, "tacit"):
                continue
            for alias in node.names:
                named = f"{base}.{alias.name}"
                is_module = (ROOT.parent / Path(*named.split("."))).with_suffix(".py").exists()
                is_room = (ROOT.parent / Path(*named.split("."))).is_dir()
                yield named if is_module or is_room else base


def room_of(module: str) -> str | None:
    """The innermost room that a module stands in."""
    return max((room for room in ARROWS if is_within(module, room)), key=len, default=None)


@cache
def imports() -> dict[str, list[str]]:
    """What each of our modules imports of the others."""
    return {
        module: list(imported_by(path.read_text(), module, is_package=path.name == "__init__.py"))
        for module, path in modules()
    }


def composes(module: str) -> bool:
    return any(is_within(module, room) for room in COMPOSE_EVERYTHING)


def test_every_module_stands_in_a_room() -> None:
    homeless = [each for each in imports() if each != "tacit" and not composes(each)]
    homeless = [each for each in homeless if room_of(each) is None]
    assert not homeless, f"{homeless} stand in no room of the design; give them their arrows here"


def test_a_module_imports_only_what_its_room_may() -> None:
    wrong = []
    for module, names in imports().items():
        room = room_of(module)
        if module == "tacit" or composes(module) or room is None:
            continue
        allowed = ARROWS[room] | {room}
        wrong += [
            f"{module} imports {name}, and {room} may import {', '.join(sorted(allowed))} alone"
            for name in names
            if not any(is_within(name, target) for target in allowed)
        ]
    assert not wrong, "\n".join(wrong)


def test_nobody_imports_the_studies() -> None:
    """They stand in no release; the command line finds their commands by name."""
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in getattr(node, "names", []) if hasattr(alias, "name")]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif not isinstance(node, ast.Import):
                continue
            wrong += [str(path) for name in names if is_within(name, "studies")]
    assert not wrong


def test_nobody_but_those_who_compose_imports_the_command_line() -> None:
    top = [room for room in COMPOSE_EVERYTHING if room != "tacit.__main__"]
    for module, names in imports().items():
        if not composes(module):
            assert not [n for n in names if any(is_within(n, room) for room in top)], module


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import tacit.search", ["tacit.search"]),
        ("import numpy, tacit.runs as r", ["tacit.runs"]),
        ("from tacit.search import Evolution", ["tacit.search"]),
        ("from tacit import search", ["tacit.search"]),
        ("from tacit import generate_assignment", ["tacit"]),
        ("from tacit.search import evolution", ["tacit.search.evolution"]),
        ("from . import engine", ["tacit.local.engine"]),
        ("from ..search import Evolution", ["tacit.search"]),
        ("def f():\n    from tacit.cli import main", ["tacit.cli.main"]),
        ("from tacitly import x\nimport tacitly", []),
    ],
)
def test_the_reader_of_imports_finds_them_all(source: str, found: list[str]) -> None:
    assert list(imported_by(source, "tacit.local.cluster", is_package=False)) == found


@pytest.mark.processes
def test_a_node_starts_without_scipy_and_matplotlib() -> None:
    rooms = "tacit.problems, tacit.disclosure, tacit.node.server, tacit.errors"
    # Numba looks for SciPy itself when it is imported; a node has neither.
    code = (
        f"import sys; sys.modules['numba'] = None; import {rooms}; "
        "print([name for name in ('scipy', 'matplotlib', 'typer', 'rich') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.processes
def test_the_operator_of_a_node_needs_none_of_what_participants_need(tmp_path: Path) -> None:
    """Its installation has no HTTP client, and it makes, shows and rotates keys."""
    folder = tmp_path / "alpha"
    for words in (
        ["node", "init", str(folder), "--name", "alpha", "--address", "127.0.0.1:9000"],
        ["keys", "show", str(folder / "alpha.public.toml")],
        ["keys", "show", str(folder / "alpha.pem")],
    ):
        code = "import sys; sys.modules['httpx'] = None; from tacit.cli.main import main; main()"
        subprocess.run([sys.executable, "-c", code, *words], check=True, timeout=240)


@pytest.mark.processes
def test_importing_the_package_alone_imports_no_room_of_it() -> None:
    code = "import sys, tacit; print([m for m in sys.modules if m.startswith('tacit.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.strip() == "['tacit.lazy']"


ROOMS = [
    f"tacit.{room}"
    for room in (
        *("disclosure", "mpc", "mpc.transport", "mpc.sealed", "mpc.assignment", "equity"),
        *("problems", "search", "search.moves"),
        *("identity", "agreement", "records", "node"),
        *("coordinator", "derived", "local"),
        *("runs", "verify", "audit", "client", "participant", "service"),
    )
]
"""Each has one public namespace, its `__init__`; its other modules are its own."""
MODULE_ROOMS = ["tacit.evaluators"]
"""Rooms of one module, which is their namespace."""


def top(module: str) -> str:
    """The room at the top of the tree; those of nodes and coordinator count as one."""
    name = ".".join(module.split(".")[:2])
    return "nodes and coordinator" if name.removeprefix("tacit.") in _NODE_SIDE else name


PROTOCOLS_OF_THEIR_OWN = {"tacit.equity": "tacit.mpc"}
"""A room that writes protocols uses the parts that those of `mpc` are made of, as they do."""


def test_others_take_from_a_room_what_it_offers() -> None:
    wrong = []
    for module, names in imports().items():
        own = {top(module), "tacit", PROTOCOLS_OF_THEIR_OWN.get(top(module))}
        for name in names:
            room, _, leaf = name.rpartition(".")
            if top(name) in own or top(name) not in map(top, ROOMS):
                continue
            offered = room in ROOMS and leaf in public_names(room)
            if name not in (*ROOMS, *MODULE_ROOMS) and not offered:
                wrong.append(f"{module} imports {name}, which is private to its room")
    assert not wrong, "\n".join(wrong)


@pytest.mark.processes  # a library of the platform's looks for others when it is imported
@pytest.mark.parametrize("room", ["tacit", *ROOMS])
def test_what_a_room_offers_is_there(room: str) -> None:
    package = import_module(room)
    for name, home in public_names(room).items():
        assert getattr(package, name) is getattr(import_module(home), name), name
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(package, "nonsense")  # noqa: B009 - type checkers know that it is not there
