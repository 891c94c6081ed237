"""A kind of problem that an installed package brings, as docs/extending.md shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.agreement.draft import check_agreement
from tacit.errors import AgreementError
from tests.on_nodes.fixtures import example_cast

ROOT = Path(__file__).parents[2]
PROGRAM = """
import my_problem, tacit
problem = my_problem.linear_ordering()
limits = {"disclose": "top:5", "limits": tacit.Limits(generations=2), "seed": 1}
results = [tacit.solve(problem, **limits, engine=e) for e in ("nodes", "simulated")]
real, twin = (result.to_json(timing=False) for result in results)
same = real.replace(b'"engine":"nodes"', b'"engine":"simulated"').replace(b',"nodes":3', b'')
print(same == twin)
tacit.save_problem(problem, "p.json")
print(tacit.load_problem("p.json").kind)
"""


def run_with_documented_kind(folder: Path) -> subprocess.CompletedProcess[str]:
    document = (ROOT / "docs/extending.md").read_text()
    found = re.search(r"```python\n# my_problem.py\n(.*?)```", document, flags=re.DOTALL)
    assert found is not None
    (folder / "my_problem.py").write_text(found[1])
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.processes
def test_an_installed_kind_runs_on_nodes(tmp_path: Path) -> None:
    document = (ROOT / "docs/extending.md").read_text()
    point = re.search(r'entry-points."tacit.kinds"\]\n(.*?)\n', document)
    assert point is not None
    installed = tmp_path / "tacit_ordering-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1.0\n")
    plain = point[1].replace('"', "")
    (installed / "entry_points.txt").write_text(f"[tacit.kinds]\n{plain}\n")
    done = run_with_documented_kind(tmp_path)
    assert done.stdout.split() == ["True", "ordering"], done.stderr


@pytest.mark.processes
def test_a_kind_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    done = run_with_documented_kind(tmp_path)
    assert "the kind 'ordering' is unknown here" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "knapsack"}, "the kind 'knapsack' is unknown here"),
        ({"version": 2}, "in version 1, not 2"),
        ({"data": {"capacities": [2, 2]}}, "has no data, not 'capacities'"),
        ({"kind": "capacitated"}, "has capacities, not none"),
        ({"kind": "capacitated", "data": {"capacities": [1, 0]}}, "take 1 in all"),
        ({"kind": "capacitated", "data": {"capacities": [1, 1 << 40]}}, "whole numbers from 0"),
        ({"kind": "routing", "data": {"demands": [0, 1], "capacities": 5}}, "0 vehicles"),
        ({"columns": 1 << 17}, "at most 65536 of either"),
        ({"rows": 10**5, "columns": 10**4}, "100000000 pairs"),
    ],
)
def test_an_agreement_about_an_unknown_problem_is_refused(
    changes: dict[str, object], why: str
) -> None:
    agreement = example_cast().agreement
    wrong = replace(agreement, problem=replace(agreement.problem, **changes))
    with pytest.raises(AgreementError, match=why):
        check_agreement(wrong)
