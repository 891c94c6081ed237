"""Every page of the site is in the menu, and its links hold there, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from release import site
from tests.test_links import faults


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site.gather(folder)
    return folder


def pages_of(menu: Any) -> list[str]:
    if isinstance(menu, str):
        return [menu]
    entries = menu.values() if isinstance(menu, dict) else menu
    return [page for entry in entries for page in pages_of(entry)]


def test_every_page_is_in_the_menu_once(built: Path) -> None:
    listed = pages_of(json.loads((built / "mkdocs.yml").read_text())["nav"])
    there = {path.relative_to(built / "source").as_posix() for path in built.rglob("*.md")}
    assert sorted(listed) == sorted(there)
    assert {"api/tacit.runs.md", "examples/assign_slots.md", "docs/protocols/README.md"} < there


def test_links_hold_on_the_site(built: Path) -> None:
    pages = [*built.rglob("*.md")]
    assert [fault for each in pages for fault in faults(each, each.read_text())] == []
    assert "](examples/README.md)" in (built / "source" / "README.md").read_text()
    assert "](../examples/pymoo_on_nodes.md)" in (built / "source/docs/extending.md").read_text()


def test_a_page_of_the_api_has_what_its_room_offers(built: Path) -> None:
    page = (built / "source/api/tacit.runs.md").read_text()
    assert "::: tacit.runs.solve.solve\n" in page
    assert "::: tacit.runs.engine_choice.EngineChoice\n" in page


def test_examples_of_docstrings_are_fenced() -> None:
    text = "Adds.\n\n>>> 1 + 1\n2\n\nNo more."
    assert site.fenced(text) == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nNo more."
    assert site.fenced(">>> 1 + 1\n2") == "```pycon\n>>> 1 + 1\n2\n```"


def test_constants_that_are_assigned_together_are_left_out() -> None:
    assert site.unpacked_names("A, B = 1, 2\nC = 3\ndef f(): D, E = 4, 5\n") == {"A", "B"}
