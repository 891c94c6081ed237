from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from studies.evaluation.instances import named_problem
from studies.evaluation.study import read_study

from tests.conftest import RunTacit
from tests.studies.command import tacit
from tests.support.repository import ROOT

pytestmark = pytest.mark.processes

HEAVY = ("polars", "optuna", "distributed", "moocore", "matplotlib", "scipy")


def test_the_command_line_starts_without_the_extra() -> None:
    code = (
        f"import sys\nfor name in {HEAVY!r}: sys.modules[name] = None\n"
        "from tacit.cli.main import make_app\nfrom typer.testing import CliRunner\n"
        "done = CliRunner().invoke(make_app(), ['--help'])\n"
        "assert done.exit_code == 0, done.output\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


def test_mistakes_become_one_line(tmp_path: Path, run_here: RunTacit) -> None:
    done = run_here("experiment", "run", "nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("tacit: no study 'nothing'")
    (tmp_path / "bad.toml").write_text("name = 1")
    done = run_here("experiment", "run", tmp_path / "bad.toml")
    assert done.returncode == 2
    assert "expected text, got a whole number" in done.stderr


def test_tune_prints_the_best_set_beside_the_papers(
    tmp_path: Path, small_study: Callable[..., Path], run_here: RunTacit
) -> None:
    more = (
        "[tuning]\ntrials = 2\nspace = { tournament = [2, 4] }\n"
        "[[tuning.instances]]\ngenerate = 'assignment'\nsize = 6\n"
    )
    path = small_study(more=more)
    path.write_text(path.read_text().replace('name = "small"', 'name = "ap"'))
    arguments = ("tune", str(path), "--workers", "1", "--out", "tuned.json", "--disclose", "top:15",
                 "--held-out", "1")  # fmt: skip
    done = run_here(*arguments, "--budget", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"tournament\s+[24]\s+18", done.stdout)
    assert re.search(r"relative_error\s+0\.\d+\s+0\.0190", done.stdout)
    assert re.search(r"evaluation instances, ours: 0\.\d+\n.*, paper-ap: 0\.\d+", done.stdout)
    assert (tmp_path / "out/tune/ap.journal").exists()
    assert '"trials"' in (tmp_path / "tuned.json").read_text()


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """The files that docs/extending.md shows, as they stand there."""
    document = (ROOT / "docs/extending.md").read_text()
    blocks = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", document, flags=re.DOTALL)
    assert [name for name, _ in blocks] == [
        "my_problem.py", "pyproject.toml", "my_mutation.py", "my_disclosure.py", "my_study.toml",
        "my_analysis.py",
    ]  # fmt: skip
    for name, content in blocks:
        assert len(content.splitlines()) < 50
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.study
def test_the_extensions_of_the_documentation_run(extended: Path) -> None:
    done = tacit("experiment", "run", "my_study.toml", "--out", "results", cwd=extended)
    assert done.returncode == 0, done.stderr
    assert "20 runs computed" in done.stdout
    analysed = subprocess.run(
        [sys.executable, "my_analysis.py"], cwd=extended, capture_output=True, text=True, check=True
    )
    assert "'podium:3'" in analysed.stdout


def test_the_study_and_the_program_of_the_documentation_run(tmp_path: Path) -> None:
    document = (ROOT / "docs/experiments.md").read_text()
    study, budget, sealed = re.findall(r"```toml\n(.*?)```", document, flags=re.DOTALL)
    (tmp_path / "study.toml").write_text(study + budget)
    read = read_study(tmp_path / "study.toml")
    assert [named_problem(spec).name for spec in read.instances][-1] == "kroD100"
    assert {job.generations for job in read.jobs() if job.disclosure == "quantiles:20"} == {109}
    (tmp_path / "sealed.toml").write_text(sealed)
    assert {job.generations for job in read_study(tmp_path / "sealed.toml").jobs()} == {2041}
    (program,) = re.findall(r"```python\n(.*?)```", document, flags=re.DOTALL)
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=240)
