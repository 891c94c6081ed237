"""The arrows between the rooms of the engine point one way."""

from __future__ import annotations

import pytest

from tests.test_import_arrows import MODULES, imported_by, is_within

BELOW_WIRE = {"identity", "agreement"}
BELOW_NODE = BELOW_WIRE | {"wire", "records"}
ARROWS: dict[str, set[str]] = {
    "identity": set(),
    "agreement": {"identity"},
    "wire": BELOW_WIRE,
    "records": BELOW_WIRE | {"wire"},
    "node.links": BELOW_NODE,
    "node.state": BELOW_NODE,
    "node.work": BELOW_NODE | {"node.links", "node.state"},
    "node": BELOW_NODE | {"node.links", "node.state", "node.work"},
    "evaluators": set(),
    "coordinator": BELOW_NODE | {"evaluators"},
    "local": BELOW_NODE | {"evaluators", "coordinator"},
}
ENGINE = [(name, path) for name, path in MODULES if name.startswith("tacit.engine.")]


def room_of(module: str) -> str:
    return max((r for r in ARROWS if is_within(module, f"tacit.engine.{r}")), key=len)


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_of_the_engine_imports_only_what_is_below_it(room: str) -> None:
    modules = [(name, path) for name, path in ENGINE if room_of(name) == room]
    assert modules
    for name, path in modules:
        # Examples in docstrings may use the fixtures, and are no imports.
        for target in imported_by(path.read_text(), name, is_package=path.name == "__init__.py"):
            if target.startswith("tacit.engine."):
                assert room_of(target) in {room, *ARROWS[room]}, f"{name} imports {target}"
