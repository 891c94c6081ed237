"""The runs of a study as tables: a row per generation, per plan of a last set, and per run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from studies.evaluation.run import MULTIPLE, SINGLE, RunRecord
from studies.evaluation.study import SearchJob

METRICS = tuple(dict.fromkeys(SINGLE + MULTIPLE))


def study_frames(
    jobs: Sequence[SearchJob], instances: Sequence[str], records: Sequence[RunRecord], /
) -> dict[str, pl.DataFrame]:
    """The tables of a study by name, in the order of its jobs; each has an instance.

    Metrics that a problem does not have are null. Times differ between machines, so they stand
    apart.
    """
    labels = pl.DataFrame(
        {
            "instance": list(instances),
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
