"""What the site is built from: documents, examples and pages of the API, in one folder.

The documents keep their places, so that their links hold. `make docs` runs this, then MkDocs, which
checks every link and anchor.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tacit.lazy import names_imported

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "site"
FRONT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")
MODULES = ("tacit.pymoo", "tacit.errors")
"""What is offered by a module rather than a room."""
INTERNAL = ("tacit.cli", "tacit.service")
"""What they offer is a command, and HTTP."""

Menu = list[dict[str, "str | Menu"]]


def gather(build: Path = BUILD, /) -> None:
    """Put everything into `source` of a folder, and write the settings with the menu beside it."""
    source = build / "source"
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in FRONT:
        shutil.copy(ROOT / name, source / name)
    examples, api = write_examples(source / "examples"), write_api(source / "api")
    for page in [*source.glob("*.md"), *source.rglob("docs/**/*.md")]:
        page.write_text(linked(page.read_text(), page.relative_to(source), source))
    menu: Menu = [{"tacit": "README.md"}, *sections()]
    menu += [{"Examples": examples}, {"API": api}, {"Changes": "CHANGELOG.md"}]
    settings = {"INHERIT": "../../mkdocs.yml", "nav": menu}
    (build / "mkdocs.yml").write_text(json.dumps(settings, indent=2))


def linked(text: str, page: Path, source: Path, /) -> str:
    """The same page with links to programs turned to their pages; other files come along."""

    def target(match: re.Match[str]) -> str:
        opening, path, rest = match.groups()
        there = (ROOT / page.parent / path).resolve()
        if there.is_relative_to(ROOT / "examples"):
            path = f"{path}/README" if there.is_dir() else path.removesuffix(".py")
            return f"{opening}{path}.md{rest}"
        copy = source / there.relative_to(ROOT)
        if there.is_file() and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, copy)
        return match[0]

    return LINK.sub(target, text)


def sections() -> Iterator[dict[str, str | Menu]]:
    """The menu of the documents, as their index has it; further pages stand with the last."""
    index = (ROOT / "docs" / "README.md").read_text()
    titles = {"take part": "Take part", "operate": "Operate", "research": "Research"}
    listed = {Path("docs/README.md")}
    menu: list[tuple[str, Menu]] = []
    for part in index.split("\n## ")[1:]:
        heading = part.partition("\n")[0]
        title = next((short for word, short in titles.items() if word in heading), "Develop")
        pages = [Path("docs", path) for path in re.findall(r"\]\(([^)]+\.md)\)", part)]
        pages = [Path(re.sub(r"docs/\.\./", "", page.as_posix())) for page in pages]
        listed |= {*pages}
        menu.append((title, [{page_title(page): page.as_posix()} for page in pages]))
    menu[0][1].insert(0, {"All documents": "docs/README.md"})
    others = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")} - listed
    research = dict(menu)["Research"]
    research += [{page_title(page): page.as_posix()} for page in sorted(others)]
    for title, entries in menu:
        yield {title: entries}


def page_title(page: Path, /) -> str:
    """The first heading of a document."""
    first = (ROOT / page).read_text().partition("\n")[0]
    return first.removeprefix("# ")


def write_examples(folder: Path, /) -> Menu:
    """A page per example: what it shows, how to run it, and its code."""
    folder.mkdir(parents=True)
    menu: Menu = [{"Examples": "examples/README.md"}]
    index = ["# Examples", ""]
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text()
        words = str(ast.get_docstring(ast.parse(code)))
        title = path.stem.replace("_", " ").capitalize()
        body = code.partition('"""\n')[2].lstrip("\n")
        text = f"# {title}\n\n{words}\n\n```python\n{body}```\n"
        (folder / f"{path.stem}.md").write_text(text)
        index.append(f"- [{title}]({path.stem}.md): {words.partition('. ')[0]}")
        menu.append({title: f"examples/{path.stem}.md"})
    (folder / "README.md").write_text("\n".join(index) + "\n")
    return menu


def write_api(folder: Path, /) -> Menu:
    """A page per room with the names that it offers, and one per module for others to use."""
    folder.mkdir(parents=True)
    menu: Menu = []
    for room, names in sorted([*rooms(), *((module, {}) for module in MODULES)]):
        # Of a room its own words, then each name; of a module all of it.
        shown = {"show_root_heading": False, "show_root_toc_entry": False, "members": not names}
        parts = [f"::: {room}\n    options: {json.dumps(shown)}\n"]
        parts += [
            f"::: {home}.{name}\n"
            for name, home in sorted(names.items())
            if name not in unpacked_names(source_of(home))
        ]
        (folder / f"{room}.md").write_text("\n".join([f"# {room}\n", *parts]))
        menu.append({room: f"api/{room}.md"})
    return menu


def source_of(module: str, /) -> str:
    """The text of a module or package of ours."""
    path = ROOT / "src" / Path(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def unpacked_names(source: str, /) -> set[str]:
    """Constants that are assigned several at a time: whoever reads sources for us sees none."""
    assigned = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    targets = [target for node in assigned for target in node.targets]
    tuples = [target for target in targets if isinstance(target, ast.Tuple)]
    return {name.id for each in tuples for name in each.elts if isinstance(name, ast.Name)}


def rooms() -> Iterator[tuple[str, dict[str, str]]]:
    """Every package that offers names, with the module that each comes from."""
    for path in (ROOT / "src" / "tacit").rglob("__init__.py"):
        room = ".".join(path.parent.relative_to(ROOT / "src").parts)
        names = names_imported(room, path.read_text())
        if names and not room.startswith(INTERNAL) and room.count(".") <= 2:
            yield room, names


def fenced(text: str, /) -> str:
    """Text with a fence around each block that begins with a prompt, up to a blank line."""
    lines: list[str] = []
    is_code = False
    for line in [*text.splitlines(), ""]:
        if not is_code and line.startswith(">>>"):
            lines.append("```pycon")
            is_code = True
        elif is_code and not line.strip():
            lines.append("```")
            is_code = False
        lines.append(line)
    return "\n".join(lines[:-1])


if __name__ == "__main__":
    gather()
