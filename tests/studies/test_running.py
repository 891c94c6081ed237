"""Every study from its file to what it writes; the same rows after a kill and from a cluster."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from studies.ablation.study import ablation_from
from studies.equity.study import shipped_equity
from studies.evaluation.study import read_study
from studies.leakage.study import leakage_study_from
from studies.running import compute, executor, run_study
from studies.study import Job, Study

from tacit.audit import Entry
from tacit.errors import FileError, ParameterError, TacitError
from tests.studies.tiny_studies import ABLATION, LEAKAGE
from tests.support.repository import ROOT

Write = Callable[..., Path]
FROM_THE_CLONE = {**os.environ, "PYTHONPATH": str(ROOT)}
COMPARED = ("generations.parquet", "fronts.parquet")

ON_A_CLUSTER = """
import subprocess, sys
from distributed import LocalCluster

if __name__ == "__main__":
    two = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with LocalCluster(**two) as c:
        sys.exit(subprocess.run([sys.executable, "-m", "tacit", "experiment", "run", sys.argv[1],
            "--out", sys.argv[2], "--scheduler", c.scheduler_address]).returncode)
"""


STUDIES: dict[str, tuple[Callable[[], Study], int, tuple[str, ...]]] = {
    # Both budgets read one run of the genetic algorithm; annealing depends on its length.
    "ablation": (lambda: ablation_from(ABLATION, "crossed.toml"), 3 * (2 + 4 * 2), ("gaps.png",)),
    "equity": (
        lambda: msgspec.structs.replace(shipped_equity().quick(), runs=3), 78, ("spread.png",)
    ),
    "leakage": (
        lambda: leakage_study_from(LEAKAGE, "tiny.toml"), 11, ("growth.png", "privacy.png")
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_gives_figures_tables_and_plots_and_resumes(name: str, tmp_path: Path) -> None:
    make, jobs, pictures = STUDIES[name]
    written = []
    for computed in (jobs, 0):
        with ThreadPoolExecutor(1) as pool:
            done = run_study(make(), tmp_path, pool)
        assert (done.computed, done.computed + done.reused) == (computed, jobs)
        assert {each.name for each in done.folder.iterdir()} == {
            *("study.json", "versions.json", "tables.md", f"{name}.json", *pictures),
        }
        figures, text = ((done.folder / each).read_text() for each in (f"{name}.json", "tables.md"))
        written.append((figures, text))
        for picture in pictures:
            assert (done.folder / picture).read_bytes().startswith(b"\x89PNG")
    assert written[0] == written[1]
    for line in SAID[name]:
        assert line in text


SAID = {
    "ablation": ["| annealing | sealed |"],
    "equity": ["multiplies its costs by 1.5"],
    "leakage": [
        "best value withheld", "| top:5 | as it is |", "Medians of runs from 2 seeds",
        "| tournaments | node |",
    ],
}  # fmt: skip


@pytest.mark.slow
def test_a_sealed_plan_leaks_the_same_however_long_one_looks(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = run_study(leakage_study_from(LEAKAGE, "tiny.toml"), tmp_path, pool)
    table = msgspec.json.decode((done.folder / "leakage.json").read_bytes())
    entries = msgspec.convert(table["entries"], list[Entry])
    assert [(each.disclosure, each.evaluations) for each in entries] == [
        ("order", 5), ("order", 12), ("top:5", 5), ("top:5", 12), ("sealed", 5), ("sealed", 12),
    ]  # fmt: skip
    assert all(each.worst is not None and each.worst >= 0 for each in entries)
    sealed = [each for each in entries if each.disclosure == "sealed"]
    assert len({(each.honest, each.worst, each.plan_only) for each in sealed}) == 1


def command(study: Path, out: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tacit",
        "experiment",
        "run",
        str(study),
        "--out",
        str(out),
        *more,
    ]


def run(arguments: list[str]) -> str:
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=300, check=False, env=FROM_THE_CLONE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_same_content(one: Path, other: Path) -> None:
    for name in COMPARED:
        assert_frame_equal(
            pl.read_parquet(one / "small" / name), pl.read_parquet(other / "small" / name)
        )
    for name in ("study.json", "versions.json"):
        assert (one / "small" / name).read_bytes() == (other / "small" / name).read_bytes()


@pytest.mark.study
@pytest.mark.processes
def test_threads_a_pool_a_kill_and_a_cluster_give_the_same(
    tmp_path: Path, small_study: Write
) -> None:
    alone, killed, cluster = (tmp_path / name for name in ("alone", "killed", "cluster"))
    # The one that is killed has so many more seeds that it cannot be done before.
    process = subprocess.Popen(
        command(small_study(generations=20, seeds=1000), killed, "--workers", "2"),
        stderr=subprocess.DEVNULL,
        env=FROM_THE_CLONE,
        start_new_session=True,
    )
    kill_after(process, killed / "rows", runs=5)
    assert not (killed / "small" / "generations.parquet").exists()

    study = small_study(generations=20, seeds=8)
    with ThreadPoolExecutor(1) as pool:
        assert run_study(read_study(study), alone, pool).computed == 32
        resumed = run_study(read_study(study), killed, pool)
    # Those of the first instance and disclosure were computed first.
    assert 5 <= resumed.reused <= 8
    assert resumed.computed == 32 - resumed.reused
    assert_same_content(alone, killed)

    script = tmp_path / "cluster.py"
    script.write_text(ON_A_CLUSTER)
    told = run([sys.executable, str(script), str(study), str(cluster)])
    assert "32 runs computed, 0 found" in told
    assert_same_content(alone, cluster)


def kill_after(process: subprocess.Popen[bytes], folder: Path, *, runs: int) -> None:
    """Kill a study once it has kept some runs."""
    deadline = time.monotonic() + 240
    try:
        while len(list(folder.glob("[!.]*.row"))) < runs:
            assert time.monotonic() < deadline, "it took too long"
            assert process.poll() is None, "it has ended by itself"
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_a_larger_study_computes_only_what_is_new(tmp_path: Path, small_study: Write) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert run_study(read_study(small_study(seeds=1)), tmp_path, pool).computed == 4
        more = run_study(read_study(small_study(seeds=3)), tmp_path, pool)
    assert (more.computed, more.reused) == (8, 4)
    rows = pl.read_parquet(more.folder / "generations.parquet")
    assert rows.columns[:4] == ["instance", "disclosure", "seed", "generation"]
    assert len(rows) == 12 * 9
    assert rows.select("instance", "disclosure", "seed", "generation").is_duplicated().sum() == 0
    assert "seconds" not in rows.columns
    assert len(pl.read_parquet(more.folder / "timing.parquet")) == 12


def test_what_stands_beside_the_rows(tmp_path: Path, small_study: Write) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = run_study(read_study(small_study(seeds=1)), tmp_path, pool)
        run_study(read_study(small_study(seeds=1)), tmp_path, pool)
    described = msgspec.json.decode((done.folder / "study.json").read_bytes())
    assert described["parameters"]["population"] == 60
    assert described["parameters"]["crossover"] == "cycle"
    assert described["yardsticks"]["ap1K10x10"]["optimum"] > 0
    (versions,) = msgspec.json.decode((done.folder / "versions.json").read_bytes())
    assert {"tacit", "python", "numpy", "polars"} <= set(versions)


def test_a_failing_run_is_named_and_the_others_are_kept(
    tmp_path: Path, small_study: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(job: Job) -> bytes:
        if job.label.endswith("seed 1"):
            raise ZeroDivisionError("no such luck")
        return compute(job)

    monkeypatch.setattr("studies.running.compute", failing)
    study = read_study(small_study())
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(TacitError, match=r"none and seed 1 failed .*no such luck"),
    ):
        run_study(study, tmp_path, pool)
    monkeypatch.undo()
    with ThreadPoolExecutor(1) as pool:
        assert run_study(study, tmp_path, pool).reused >= 1


def test_executors_refuse_what_makes_no_sense() -> None:
    with pytest.raises(ParameterError, match="workers is 0"), executor(workers=0):
        pass
    with (
        pytest.raises(ParameterError, match="brings its own workers"),
        executor(workers=2, scheduler="tcp://127.0.0.1:1"),
    ):
        pass


def test_a_file_error_survives_the_way_from_a_worker() -> None:
    error = FileError("a.csv", "row 2", "is short", "fill it up")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
