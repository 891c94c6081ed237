"""Rules of the house that a machine can check."""

import ast
import re
from pathlib import Path

import tacit.mpc

ROOT = Path(tacit.mpc.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
FILES = sorted(ROOT.rglob("*.py"))


def test_citations_resolve() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text()))
    texts = [f.read_text() for f in [*FILES, *sorted((DOCS / "protocols").glob("*.md"))]]
    cited = {key for text in texts for key in re.findall(r"\[([a-z]+\d{4})(?:, [^\]]+)?\]", text)}
    assert cited
    assert cited <= known


def test_mpc_imports_nothing_of_ours_but_the_errors() -> None:
    # What makes a room's names lazy imports nothing but the standard library.
    allowed = {"tacit.errors", "tacit.lazy", "numpy", "cryptography"}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                ours = name.startswith("tacit") and not name.startswith("tacit.mpc")
                assert not ours or name in allowed, f"{file.name} imports {name}"


def test_protocols_have_examples() -> None:
    for file in FILES:
        if file.parent.name not in {"protocols", "sealed", "disclose"}:
            continue
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.AsyncFunctionDef):
                continue
            doc = ast.get_docstring(node) or ""
            shown = ">>>" in doc or "for an example" in doc or node.name.startswith("_")
            assert shown, f"{file.name}: {node.name} has no example"


TABLES = {"PAIRS", "HALVES", "_path"}
"""Where the number of nodes may make a difference that is not counted."""


def _numbers_of_nodes(tree: ast.AST) -> list[ast.AST]:
    """Comparisons of a number with a literal 3 or 4, and tables by such numbers."""

    def is_number(node: ast.AST | None) -> bool:
        return isinstance(node, ast.Constant) and node.value in (3, 4) and node.value is not True

    found: list[ast.AST] = []
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = [*node.keys] if len(node.keys) == 2 else []
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        if any(map(is_number, parts)):
            found.append(node)
    return found


def test_the_number_of_nodes_stands_in_three_tables_at_most() -> None:
    """Protocols are written once: no case of three or of four nodes outside pairs, halves, path."""
    seen = set()
    for file in FILES:
        if file.parent.name == "transport":
            continue  # links have two ends, whoever they belong to
        for node in ast.parse(file.read_text()).body:
            found = _numbers_of_nodes(node)
            if not found:
                continue
            named = {
                target.id
                for target in ast.walk(node)
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
            }
            name = node.name if isinstance(node, ast.FunctionDef) else ", ".join(named & TABLES)
            assert name in TABLES, f"{file.name}: {ast.unparse(found[0])}"
            seen.add(name)
    assert {"PAIRS", "HALVES"} <= seen


def test_a_case_for_three_nodes_would_be_found() -> None:
    for code in ("a = 1 if session.nodes == 3 else 2", "{3: 1, 4: 2}[n]", "n >= 4"):
        assert _numbers_of_nodes(ast.parse(code))
    assert not _numbers_of_nodes(ast.parse("blocks > 2"))
