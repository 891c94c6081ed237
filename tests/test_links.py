"""Links between documents lead to files and headings that exist; `make docs` checks the site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CODE = re.compile(r"```.*?```|`[^`\n]*`", flags=re.DOTALL)


def faults(document: Path, text: str) -> Iterator[str]:
    """Every link that leads nowhere."""
    for target in re.findall(r"\]\(([^)]*)\)", CODE.sub("", text)):
        path, _, anchor = target.partition("#")
        if re.match(r"https?://\S+$", target):
            continue
        there = document if not path else document.parent / path
        if not there.exists() or (
            there.is_dir() and not [*there.glob("*.md"), *there.glob("*.py")]
        ):
            yield f"{document.name}: {target} is not there"
        elif anchor and anchor not in anchors(there):
            yield f"{document.name}: {path} has no heading #{anchor}"


@cache
def anchors(document: Path) -> frozenset[str]:
    """What headings are called in links; the second of the same name gets a number."""
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    seen: Counter[str] = Counter()
    found = []
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        found.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(found)


def test_links_between_documents_lead_somewhere() -> None:
    assert len(DOCUMENTS) > 30
    assert [fault for each in DOCUMENTS for fault in faults(each, each.read_text())] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[a](docs/nowhere.md)", "docs/nowhere.md is not there"),
        ("[a](docs/nodes.md#nowhere)", "docs/nodes.md has no heading #nowhere"),
        ("[a](#nowhere)", " has no heading #nowhere"),
        ("![a](docs/nowhere.png)", "docs/nowhere.png is not there"),
        ("[a](file:///etc/passwd)", "file:///etc/passwd is not there"),
    ],
)
def test_a_link_that_leads_nowhere_is_noticed(text: str, fault: str) -> None:
    assert list(faults(ROOT / "README.md", text)) == [f"README.md: {fault}"]
    assert not list(faults(ROOT / "README.md", f"`{text}` and ```\n{text}\n```"))
    assert not list(faults(ROOT / "README.md", "[a](docs/nodes.md) [b](https://a.example/b#c)"))
