"""What tuned sets are worth on the evaluation instances, which tuning never saw."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor

import msgspec

from studies.evaluation.settings import changed
from studies.evaluation.study import SearchStudy
from studies.tuning.plan import Choice
from studies.tuning.tune import Tuned, TuningTask, assessed, published_sets

MOST_SETS = 5
"""A front may have many sets; those with the smallest totals are tried."""


def our_names(count: int, /) -> list[str]:
    """How our sets are named in what is written, the one with the smallest total first.

    >>> our_names(3)
    ['ours', 'ours, set 2', 'ours, set 3']
    """
    return ["ours", *(f"ours, set {k}" for k in range(2, min(count, MOST_SETS) + 1))]


def their_names(preset: str, count: int, /) -> list[str]:
    """How the paper's sets are named: the last is the one that it continues with, its preset.

    >>> their_names("paper-moap", 2)
    ["the paper's set 1", 'paper-moap']
    """
    return [*(f"the paper's set {k}" for k in range(1, count)), preset]


def held_out_sets(study: SearchStudy, tuned: Tuned, /) -> dict[str, dict[str, Choice]]:
    """Our best sets, the preset's and the others of the paper, by their names."""
    ours = zip(our_names(len(tuned.best)), tuned.best, strict=False)
    paper = published_sets(study.name)
    theirs = zip(their_names(study.preset, len(paper))[:-1], paper, strict=False)
    others = {name: each.settings for name, each in (*ours, *theirs)}
    return {**others, study.preset: {}}


def held_out_values(
    study: SearchStudy,
    task: TuningTask,
    sets: Mapping[str, Mapping[str, Choice]],
    pool: Executor,
    /,
    *,
    runs: int,
) -> dict[str, tuple[float, ...]]:
    """The values of sets on the study's evaluation instances, which tuning never saw.

    The best of many trials owes some of its value to luck; these do not.
    """
    fresh = msgspec.structs.replace(task.assessment, instances=study.instances, runs=runs)
    futures = {
        name: pool.submit(assessed, fresh, changed(task.base, settings))
        for name, settings in sets.items()
    }
    return {name: future.result() for name, future in futures.items()}
