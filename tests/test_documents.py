"""Every example runs, and every command and program in the README does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example_runs_and_says_something(example: Path, tmp_path: Path) -> None:
    done = run([sys.executable, str(example)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr


def test_readme_commands_run_in_their_order(tmp_path: Path) -> None:
    commands = [
        line.removeprefix("$ ").split("#")[0].split()
        for block in blocks("console")
        for line in block.splitlines()
        if line.startswith("$ tacit")
    ]
    assert len(commands) >= 4
    for command in commands:
        done = run([sys.executable, "-m", *command], tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    assert (tmp_path / "result.json").stat().st_size > 1000
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_readme_programs_run(tmp_path: Path) -> None:
    programs = blocks("python")
    assert programs
    for program in programs:
        done = run([sys.executable, "-c", program], tmp_path)
        assert done.returncode == 0, done.stderr


def test_links_between_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_documents_name_no_make_target_that_is_gone() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for name in re.findall(r"`make ([a-z-]+)`", document.read_text()):
            assert name in targets, f"{document.name} names make {name}"


def test_scripts_of_the_repository_are_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
