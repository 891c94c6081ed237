"""Every example runs, and every command and program in the README does what it says.

In this process and on nodes that run already, since new interpreters and the kernels that they load
take seconds; one example runs as a reader would run it. Deadlines are cut short.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tacit.cli.main import main
from tacit.local import LocalCluster

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
IN_A_PROCESS = "assign_slots"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def hurried(text: str) -> str:
    """With little time and few generations: they shall run, not find anything."""
    text = re.sub(r"(deadline[ =]\"?)\d+s", r"\g<1>500ms", text)
    return re.sub(r"(generations[ =])\d+", r"\g<1>10", text)


@pytest.fixture
def _nodes_are_there(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.local.LocalCluster", lambda **_: nullcontext(cluster))


def test_an_example_runs_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{IN_A_PROCESS}.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr


@pytest.mark.usefixtures("_nodes_are_there")
@pytest.mark.parametrize(
    "example", [each for each in EXAMPLES if each.stem != IN_A_PROCESS], ids=lambda path: path.stem
)
def test_example_runs_and_says_something(
    example: Path,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(hurried(example.read_text()), str(example), "exec"), {"__name__": "__main__"})
    said = capfd.readouterr()
    assert said.out.strip()
    assert not said.err


@pytest.mark.usefixtures("_nodes_are_there")
def test_readme_commands_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [
        hurried(line).removeprefix("$ ").split("#")[0].split()
        for block in blocks("console")
        for line in block.splitlines()
        if line.startswith("$ tacit")
    ]
    assert len(commands) >= 4
    for command in commands:
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, (command, capfd.readouterr().err)
    assert (tmp_path / "result.json").stat().st_size > 1000
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("_nodes_are_there")
def test_readme_programs_run(capfd: pytest.CaptureFixture[str]) -> None:
    programs = blocks("python")
    assert programs
    for program in programs:
        exec(hurried(program), {})
        assert capfd.readouterr().out.strip()


def test_documents_name_no_make_target_that_is_gone() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for name in re.findall(r"`make ([a-z-]+)`", document.read_text()):
            assert name in targets, f"{document.name} names make {name}"


def test_scripts_of_the_repository_are_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
