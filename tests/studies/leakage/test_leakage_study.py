from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from studies.leakage.family_tables import families_tables
from studies.leakage.plan import (
    leakage_study_from,
    read_leakage_study,
    shipped_leakage_study,
)
from studies.leakage.run_study import run_leakage_study
from studies.leakage.tables import correlation_tables

from tacit.audit.expected.table import Entry, measured_entries
from tacit.errors import FileError
from tests.conftest import RunTacit
from tests.studies.leakage.tiny import TINY
from tests.support.repository import ROOT


@pytest.mark.slow
def test_a_study_gives_the_table_the_text_and_the_plots(tmp_path: Path) -> None:
    study = leakage_study_from(TINY, "tiny.toml")
    with ThreadPoolExecutor(1) as pool:
        done = run_leakage_study(study, tmp_path, pool)
        again = run_leakage_study(study, tmp_path, pool)
    assert (done.computed, again.computed) == (study.runs, 0) == (11, 0)
    assert done.results == again.results
    table = msgspec.json.decode((done.folder / "leakage.json").read_bytes())
    entries = msgspec.convert(table["entries"], list[Entry])
    assert [(each.disclosure, each.evaluations) for each in entries] == [
        ("order", 5), ("order", 12), ("top:5", 5), ("top:5", 12), ("sealed", 5), ("sealed", 12),
    ]  # fmt: skip
    assert all(each.worst is not None and each.worst >= 0 for each in entries)
    text = (done.folder / "tables.md").read_text()
    assert "best value withheld" in text
    assert "| top:5 | as it is |" in text
    assert "Medians of runs from 2 seeds" in text
    assert "| tournaments | node |" in text
    sealed = [each for each in entries if each.disclosure == "sealed"]
    # However long one looks: the plan is all there is.
    assert len({(each.honest, each.worst, each.plan_only) for each in sealed}) == 1
    for name in ("privacy.png", "growth.png"):
        assert (done.folder / name).stat().st_size > 1000


def test_the_shipped_study_covers_the_paper() -> None:
    study = shipped_leakage_study()
    jobs = list(study.jobs())
    assert len({job.key for job in jobs}) == len(jobs)
    assert len({job.run.disclosure for job in jobs}) == 15
    assert {job.label for job in jobs} == {"assignment", "tour"}
    assert {job.family for job in jobs} == {
        "uniform", "distances", "effects", "low rank", "Euclidean", "slots", "delays", "ties",
    }  # fmt: skip
    assert "last week" in {job.prior for job in jobs}
    assert {job.best for job in jobs} == {"value", "improvement", "nothing"}


def test_a_sample_has_one_short_run_of_each_family() -> None:
    jobs = list(shipped_leakage_study().sampled().jobs())
    whole = {(job.label, job.family, job.prior) for job in shipped_leakage_study().jobs()}
    assert {(job.label, job.family, job.prior) for job in jobs} == whole
    assert [job.run.disclosure for job in jobs] == ["top:15", "sealed"] * len(whole)
    assert {job.evaluations for job in jobs} == {(16,), (30,)}
    keys = {
        (each.kind, each.family, each.prior, each.disclosure, each.evaluations)
        for each in measured_entries()
    }
    assert all(
        (job.label, job.family, job.prior, job.run.disclosure, *job.evaluations) in keys
        for job in jobs
    )


@pytest.mark.processes
def test_the_command_writes_everything(tmp_path: Path, run_here: RunTacit) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    done = run_here(
        "experiment", "leakage", "--study", str(path), "--quick", "--workers", "1",
        "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "from 4 runs, 4 of them computed" in done.stdout
    assert (tmp_path / "quick" / "tiny" / "leakage.json").exists()


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        read_leakage_study(tmp_path / "gone.toml")
    path = tmp_path / "odd.toml"
    path.write_text(TINY + "colour = 1\n")
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
