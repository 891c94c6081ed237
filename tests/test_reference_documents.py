"""Pages that repeat what the code says are held to the code."""

from __future__ import annotations

import ast
import doctest
import re
import tomllib
from dataclasses import fields
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import msgspec
import pytest

from tacit.disclosure.parse import BUILT_IN
from tacit.identity.config import (
    ClusterConfig,
    ClusterNode,
    NodeConfig,
    PeerConfig,
    load_cluster_config,
    load_node_config,
)
from tacit.participant.trust import Trust, TrustedNode, TrustedParticipant, load_trust
from tacit.search import PRESETS, SearchParameters, mutation
from tacit.search.moves import SETTINGS, TourParameters
from tacit.service.access.permissions import PERMISSIONS
from tacit.service.server.settings import ClusterSettings, MailSettings, Settings, load_settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LOADERS = {
    "node.toml": load_node_config,
    "cluster.toml": load_cluster_config,
    "service.toml": load_settings,
    "keys.toml": load_trust,
}
STRUCTS: list[tuple[str, str, type[msgspec.Struct]]] = [
    ("node.toml", "", NodeConfig),
    ("node.toml", "peers", PeerConfig),
    ("cluster.toml", "", ClusterConfig),
    ("cluster.toml", "nodes", ClusterNode),
    ("service.toml", "", Settings),
    ("service.toml", "mail", MailSettings),
    ("service.toml", "cluster", ClusterSettings),
    ("keys.toml", "", Trust),
    ("keys.toml", "node", TrustedNode),
    ("keys.toml", "participant", TrustedParticipant),
]


def samples() -> dict[str, str]:
    text = (DOCS / "configuration.md").read_text()
    return dict(re.findall(r"```toml\n# (\S+)\n(.*?)```", text, flags=re.DOTALL))


@pytest.mark.parametrize("file", LOADERS)
def test_sample_files_load(file: str, tmp_path: Path) -> None:
    assert samples().keys() == LOADERS.keys()
    (tmp_path / file).write_text(samples()[file])
    LOADERS[file](tmp_path / file)


@pytest.mark.parametrize(("file", "table", "struct"), STRUCTS)
def test_samples_have_every_key_with_its_default(
    file: str, table: str, struct: type[msgspec.Struct]
) -> None:
    whole: dict[str, Any] = tomllib.loads(samples()[file])
    shown = whole[table] if table else whole
    shown = shown[0] if isinstance(shown, list) else shown
    keys = {field.name: field for field in msgspec.structs.fields(struct)}
    keys.pop("folder", None)  # where the file was found; nobody writes it
    assert shown.keys() == keys.keys()
    for name, field in keys.items():
        if field.default not in (msgspec.NODEFAULT, None):
            assert shown[name] == field.default, name


@cache
def sources() -> list[ast.AST]:
    return [
        node
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.JoinedStr | ast.Constant | ast.ClassDef)
    ]


@cache
def messages() -> list[str]:
    """Every text of the sources; what is filled in later is left as a gap."""
    found = [(ROOT / "Makefile").read_text()]
    for node in sources():
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
            found.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def is_said_somewhere(message: str) -> bool:
    gaps = ".*".join(map(re.escape, message.split("…")))
    return any(re.search(gaps, text, flags=re.DOTALL) for text in messages())


def test_troubleshooting_quotes_messages_that_exist() -> None:
    text = (DOCS / "troubleshooting.md").read_text()
    symptoms = re.findall(r"^\| `([^`]+)`(?: \([^)]*\))? \|", text, flags=re.MULTILINE)
    assert len(symptoms) > 50
    gone = [message for message in symptoms if not is_said_somewhere(message)]
    assert not gone, "the code says this no more; look up what it says now"
    assert not is_said_somewhere("the moon is … of cheese")


def test_the_table_of_the_api_has_every_endpoint_once() -> None:
    table = (DOCS / "platform.md").read_text().partition("\n## The API\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[A-Z].*?`) \|", table, flags=re.MULTILINE)
    listed = [tuple(text.split(" ")) for cell in cells for text in re.findall(r"`([^`]+)`", cell)]
    shown = [(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in listed]
    assert sorted(shown) == sorted(
        (method, re.sub(r"\{\w+\}", "{}", path)) for method, path in PERMISSIONS
    )


@pytest.mark.parametrize("method", BUILT_IN)
def test_every_disclosure_is_named_where_readers_look_for_it(method: str) -> None:
    for page in (ROOT / "README.md", DOCS / "glossary.md", DOCS / "security-model.md"):
        assert re.search(rf"`{method}\b", page.read_text()), page
    (said,) = [text for text in messages() if text.startswith("What an evaluation reveals: none")]
    assert re.search(rf"\b{method}\b", said)


def test_every_document_is_in_the_index_once() -> None:
    listed = re.findall(r"\]\(([^)]+)\)", (DOCS / "README.md").read_text())
    assert len(set(listed)) == len(listed)
    pages = {str(page.relative_to(DOCS)) for page in DOCS.glob("*.md")} - {"README.md"}
    assert pages <= set(listed)
    protocols = (DOCS / "protocols" / "README.md").read_text()
    for page in (DOCS / "protocols").glob("[a-z]*.md"):
        assert f"]({page.name})" in protocols


def test_the_settings_of_the_search_are_those_of_the_code() -> None:
    text = (DOCS / "search.md").read_text()
    of_searches = [
        field.name for kind in (SearchParameters, TourParameters) for field in fields(kind)
    ]
    for name in (*of_searches, *SETTINGS):
        assert f"`{name}`" in text, name
    rows = re.findall(r"^\| `(\w+)`[^|]*\| (\w+) \| (\w+) \| (\w+) \|$", text, re.MULTILINE)
    assert [name for name, *_ in rows] == [field.name for field in fields(SearchParameters)]
    words = {"yes": "True", "no": "False"}
    for name, *shown in rows:
        for preset, value in zip(("paper-ap", "paper-tsp", "paper-moap"), shown, strict=True):
            assert str(getattr(PRESETS[preset], name)) == words.get(value, value), (preset, name)


def test_documents_name_code_that_exists() -> None:
    documents = {*ROOT.glob("*.md"), *DOCS.rglob("*.md")}
    for document in documents:
        text = document.read_text()
        for path in re.findall(r"\b(?:src|tests|examples|deploy)/[\w/.-]+\w", text):
            assert (ROOT / path).exists(), f"{document.name}: {path}"
        for name in re.findall(r"`(tacit(?:\.\w+)+)`", text):
            try:
                resolve_name(name)
            except (ImportError, AttributeError):
                pytest.fail(f"{document.name}: there is no {name}")


def test_citations_of_the_security_model_resolve() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text()))
    cited = set(re.findall(r"\[([a-z]+\d{4})\]", (DOCS / "security-model.md").read_text()))
    assert cited
    assert cited <= known


def test_the_architecture_fits_a_screen_and_an_evaluation_passes_few_types() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 70
    walk = text.partition("## One evaluation")[2].partition("\n## ")[0]
    types = set(re.findall(r"`([A-Z]\w+)`", walk))
    assert 1 <= len(types) <= 5
    assert types <= {node.name for node in sources() if isinstance(node, ast.ClassDef)}
    for room in re.findall(r"\b([a-z]+)/ ", text.partition("```")[2].partition("```")[0]):
        assert any(path.is_dir() for path in (ROOT / "src/tacit").rglob(room)), room


def test_the_operator_of_the_first_change_works() -> None:
    (program,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL
    )
    space: dict[str, Any] = dict(vars(mutation))  # the module that the operator is written into
    exec(program, space)
    example = doctest.DocTestFinder().find(space["adjacent"], "adjacent", globs=space)
    assert [doctest.DocTestRunner().run(each).failed for each in example] == [0]
