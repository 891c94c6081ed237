"""Finished runs on disk, and the Parquet files made of them.

Each run is one file, named by its job's key and put in place in one step, so that whatever kills
the process, a run is there whole or not at all. The Parquet files are made from the runs in the
order of the study; they hold the same rows however, and however often, the study was started.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from studies.execution.job import Job
from studies.execution.run_job import MULTIPLE, SINGLE, RunRecord
from studies.study.instances import named_problem, reference_of
from studies.study.study import Study
from tacit.files import replace_file, replacing

METRICS = tuple(dict.fromkeys(SINGLE + MULTIPLE))


def study_rows(jobs: Sequence[Job], records: Sequence[RunRecord], /) -> dict[str, pl.DataFrame]:
    """The tables of a study by name, in the order of its jobs.

    Metrics that a problem does not have are null. Times differ between machines, so they stand
    apart.
    """
    labels = pl.DataFrame(
        {
            "instance": [named_problem(job.instance).name for job in jobs],
            "disclosure": [job.disclosure for job in jobs],
            "seed": pl.Series([job.seed for job in jobs], dtype=pl.Int32),
        }
    )
    timing = labels.with_columns(pl.Series("seconds", [record.seconds for record in records]))
    lengths = [len(record.metrics["set_size"]) for record in records]
    generations = _repeated(labels, lengths, "generation").with_columns(
        _metric(records, name, lengths) for name in METRICS
    )
    sizes = [len(record.front) for record in records]
    objectives = max(record.front.shape[1] for record in records)
    fronts = _repeated(labels, sizes, "plan").with_columns(
        pl.Series(f"objective_{k + 1}", np.concatenate([_column(r, k) for r in records]))
        for k in range(objectives)
    )
    return {"generations": generations, "fronts": fronts, "timing": timing}


def _repeated(labels: pl.DataFrame, counts: Sequence[int], counter: str) -> pl.DataFrame:
    """Each row so many times, with a counter that starts at 0 for each."""
    index = np.repeat(np.arange(len(counts)), counts)
    count = np.concatenate([np.arange(each, dtype=np.int32) for each in counts])
    return labels[index].with_columns(pl.Series(counter, count))


def _metric(records: Sequence[RunRecord], name: str, lengths: Sequence[int]) -> pl.Series:
    missing = float("nan")
    values = np.concatenate(
        [
            record.metrics.get(name, np.full(length, missing))
            for record, length in zip(records, lengths, strict=True)
        ]
    )
    series = pl.Series(name, values).fill_nan(None)
    return series.cast(pl.Int32) if name == "set_size" else series


def _column(record: RunRecord, k: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if k < record.front.shape[1]:
        return record.front[:, k]
    return np.full(len(record.front), np.nan)


LIBRARIES = ("tacit", "numpy", "numba", "scipy", "polars", "msgspec")


@dataclass(frozen=True)
class Store:
    """The folder of one study.

    `generations.parquet` has one row per run and generation, `fronts.parquet` the plans of the
    last estimated-best sets, `timing.parquet` the seconds per run (the only file that differs from
    one machine to the next), `study.json` the full configuration, `versions.json` the versions.
    """

    folder: Path

    @property
    def generations(self) -> Path:
        """One row per run and generation."""
        return self.folder / "generations.parquet"

    @property
    def fronts(self) -> Path:
        """One row per plan of a last estimated-best set."""
        return self.folder / "fronts.parquet"

    def path_of(self, job: Job, /) -> Path:
        """Where the run of a job is kept."""
        return self.folder / "runs" / f"{job.key}.npz"

    def missing(self, jobs: Sequence[Job], /) -> list[Job]:
        """The jobs whose runs are still to be computed."""
        runs = self.folder / "runs"
        there = {entry.name for entry in runs.iterdir()} if runs.is_dir() else set()
        return [job for job in jobs if self.path_of(job).name not in there]

    def keep(self, job: Job, encoded: bytes, /) -> None:
        """Put a finished run in its place."""
        write_whole(self.path_of(job), encoded)

    def describe(self, study: Study, /) -> None:
        """Write the configuration, and the versions unless they are on record already."""
        described = msgspec.to_builtins(study)
        described["parameters"] = msgspec.to_builtins(study.search)
        described["yardsticks"] = dict(_references(study))
        write_json(self.folder / "study.json", described)
        path = self.folder / "versions.json"
        known = msgspec.json.decode(path.read_bytes()) if path.exists() else []
        if versions() not in known:
            write_json(path, [*known, versions()])

    def merge(self, study: Study, /) -> None:
        """Make the Parquet files from the runs, in the order of the study."""
        jobs = list(study.jobs())
        tables = study_rows(jobs, [self.run_of(job) for job in jobs])
        for name, frame in tables.items():
            with replacing(self.folder / f"{name}.parquet") as file:
                frame.write_parquet(file, compression="zstd")

    def run_of(self, job: Job, /) -> RunRecord:
        """Read a finished run."""
        return RunRecord.decoded(self.path_of(job).read_bytes())


def versions() -> dict[str, str]:
    """What the rows depend on beside the configuration."""
    found = {"python": platform.python_version(), "system": platform.system()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def write_whole(path: Path, content: bytes, /) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def write_json(path: Path, value: object, /) -> None:
    """Write a value as indented JSON, whole or not at all."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def _references(study: Study) -> Iterator[tuple[str, dict[str, object]]]:
    for spec in study.instances:
        reference = reference_of(spec)
        truth = None if reference.truth is None else reference.truth.tolist()
        yield reference.problem.name, {"optimum": reference.optimum, "ground_truth": truth}
