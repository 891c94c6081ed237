from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from studies.leakage.study import leakage_study_from, read_leakage_study, shipped_leakage_study
from studies.leakage.tables import bound_table, correlation_tables, families_tables

from tacit.audit import measured_entries
from tacit.errors import FileError
from tests.conftest import RunTacit
from tests.studies.tiny_studies import LEAKAGE
from tests.support.repository import ROOT


def test_the_shipped_study_covers_the_paper() -> None:
    study = shipped_leakage_study()
    jobs = list(study.attacked())
    assert len({job.key for job in study.jobs()}) == len(study.jobs())
    assert len({job.run.disclosure for job in jobs}) == 15
    assert {job.kind for job in jobs} == {"assignment", "tour"}
    assert {job.family for job in jobs} == {
        "uniform", "distances", "effects", "low rank", "Euclidean", "slots", "delays", "ties",
    }  # fmt: skip
    assert "last week" in {job.prior for job in jobs}
    assert {job.best for job in jobs} == {"value", "improvement", "nothing"}


def test_a_sample_has_one_short_run_of_each_family() -> None:
    jobs = shipped_leakage_study().sampled().jobs()
    whole = {(job.kind, job.family, job.prior) for job in shipped_leakage_study().attacked()}
    assert {(job.kind, job.family, job.prior) for job in jobs} == whole
    assert [job.run.disclosure for job in jobs] == ["top:15", "sealed"] * len(whole)
    assert {job.evaluations for job in jobs} == {(16,), (30,)}
    keys = {
        (each.kind, each.family, each.prior, each.disclosure, each.evaluations)
        for each in measured_entries()
    }
    assert all(
        (job.kind, job.family, job.prior, job.run.disclosure, *job.evaluations) in keys
        for job in jobs
    )


@pytest.mark.study
@pytest.mark.processes
def test_the_command_writes_everything(tmp_path: Path, run_here: RunTacit) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(LEAKAGE)
    done = run_here(
        "experiment", "leakage", "--study", str(path), "--quick", "--workers", "1",
        "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4 runs computed" in done.stdout
    assert (tmp_path / "quick" / "tiny" / "leakage.json").exists()


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        read_leakage_study(tmp_path / "gone.toml")
    path = tmp_path / "odd.toml"
    path.write_text(LEAKAGE + "colour = 1\n")
    with pytest.raises(FileError, match=r"odd\.toml.*colour"):
        read_leakage_study(path)


def test_the_documented_tables_are_those_that_participants_are_shown() -> None:
    text = (ROOT / "docs/leakage/tables.md").read_text()
    entries = measured_entries()
    tables = [*families_tables(entries), *correlation_tables(entries)]
    assert len(tables) > 5
    assert all(table.markdown() in text for table in tables)
    for name in ("privacy.png", "growth.png"):
        assert (ROOT / "docs/leakage" / name).read_bytes().startswith(b"\x89PNG")


def test_the_study_bounds_one_run_at_its_end() -> None:
    (job,) = shipped_leakage_study().bound_jobs()
    assert (job.kind, job.run.disclosure, job.evaluations) == ("assignment", "top:15", (300,))
    assert (job.population, job.mitigation, job.worst_case) == (300, "", False)
    assert not list(leakage_study_from(LEAKAGE, "tiny.toml").bound_jobs())
    assert not list(shipped_leakage_study().quick().bound_jobs())


def test_a_run_has_a_limit_and_an_estimate_near_it() -> None:
    study = leakage_study_from('bounded = "top:15"' + LEAKAGE, "tiny.toml")
    (job,) = study.bound_jobs()
    result = job.compute()
    assert (result.evaluations, result.population, result.violated) == (12, 30, 0)
    assert 0.3 < result.posterior_mean < 1
    assert abs(result.limit - result.posterior_mean) < 0.2
    text = bound_table([result], [0.5]).markdown()
    assert f"| top:15 | 12 | 0.50 | {result.posterior_mean:.2f} | {result.limit:.2f} |" in text
    unfit = msgspec.structs.replace(result, violated=1)
    assert "| the draws do not fit |" in bound_table([unfit], [0.5]).markdown()
