"""Tables 3 to 5: spaces and best sets of the paper's tuning, and what ours found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import msgspec

from studies.evaluation.study import SearchStudy, shipped_study
from studies.tables import Block, Cell, ReportTable, plain
from studies.tuning.plan import Choice
from studies.tuning.tune import MOST_SETS, our_names, published_sets, their_names

NAMES = {
    "generations": "generations",
    "population": "population",
    "elites": "elites",
    "tournament": "entrants of a tournament",
    "crossover": "crossover",
    "crossover_percent": "crossover, %",
    "mutation": "mutation",
    "mutation_percent": "mutation, %",
}
METRICS = {1: ("relative error",), 2: ("normalized GD+", "normalized IGD+")}
TABLES = {"ap": (3, "assignment"), "tsp": (4, "tour"), "moap": (5, "two objectives")}
"""The paper's number of each study's table."""


class SetFound(msgspec.Struct, frozen=True):
    """A set and its values on the tuning instances."""

    settings: dict[str, Choice]
    values: tuple[float, ...]


class TuningRecord(msgspec.Struct, frozen=True):
    """The trials of a tuning that are shipped, as `tacit tune --out` writes them."""

    source: str
    task: dict[str, Any]
    best: tuple[SetFound, ...]
    held_out: dict[str, tuple[float, ...]]
    trials: list[Any]


def tuning_record(study: str, /) -> TuningRecord:
    """The shipped trials of `ap`, `tsp` or `moap`."""
    raw = (files("studies") / "data" / f"tuned-{study}.json").read_bytes()
    return msgspec.json.decode(raw, type=TuningRecord)


def tuning_blocks() -> list[Block]:
    """Tables 3 to 5."""
    blocks: list[Block] = [
        "Tuning is not run again with the evaluation: these are the trials that are shipped. A "
        "value on the tuning instances belongs to the best of many trials, so it is optimistic, "
        "the paper's as ours; the evaluation instances were never seen in tuning."
    ]
    return [*blocks, *(tuning_table(name) for name in TABLES)]


def tuning_table(name: str, /) -> ReportTable:
    """The table of a study: options, the paper's best sets, ours, and their values."""
    study, record = shipped_study(name), tuning_record(name)
    plan = study.tuning
    assert plan is not None, "the three studies have a tuning"
    theirs, ours = published_sets(name), record.best[:MOST_SETS]
    searched: Mapping[str, Sequence[Choice]] = record.task["space"]
    fixed = _fixed(study)
    rows = []
    for setting, label in NAMES.items():
        if setting not in fixed and setting not in plan.space and setting not in searched:
            continue
        alone = fixed.get(setting, "-")
        rows.append(
            plain(
                label,
                _options(plan.space.get(setting, (alone,))),
                _options(searched.get(setting, (alone,))),
                *(str(each.settings.get(setting, alone)) for each in theirs),
                *(str(each.settings.get(setting, alone)) for each in ours),
            )
        )
    for k, metric in enumerate(METRICS[len(theirs[0].values)]):
        rows.append(
            plain(f"{metric}, tuning instances", "", "",
                  *(f"{each.values[k]:.4g}" for each in theirs),
                  *(f"{each.values[k]:.4f}" for each in ours))
        )  # fmt: skip
        rows.append(
            (*plain(f"{metric}, evaluation instances", "", ""),
             *(_held(record, key, k) for key in their_names(study.preset, len(theirs))),
             *(_held(record, key, k) for key in our_names(len(ours))))
        )  # fmt: skip
    number, what = TABLES[name]
    return ReportTable(
        f"table-{number:02d}",
        f"Table {number}: tuning, {what}",
        ("setting", "options, paper", "options, ours", *_headings("paper", len(theirs)),
         *_headings("ours", len(ours))),
        tuple(rows),
        f"{record.source}. Trials: {len(record.trials)}, of which the first "
        f"{record.task['random_trials']} were drawn at random; the paper had {plan.trials} and "
        f"{plan.random_trials}."
        + (f" Of {len(record.best)} non-dominated sets the {MOST_SETS} with the smallest sum are "
           "shown." if len(record.best) > MOST_SETS else ""),
    )  # fmt: skip


def _held(record: TuningRecord, key: str, metric: int) -> Cell:
    values = record.held_out.get(key)
    return Cell("-" if values is None else f"{values[metric]:.4f}")


def _fixed(study: SearchStudy) -> dict[str, Choice]:
    """Settings of the preset; NSGA-II has neither elites nor a choice of entrants."""
    settings = asdict(study.search)
    absent = ("elites", "tournament") if settings["algorithm"] == "nsga2" else ()
    known: dict[str, Choice] = {"generations": study.generations}
    return known | {k: v for k, v in settings.items() if k in NAMES and k not in absent}


def _options(choices: Sequence[Choice]) -> str:
    return ", ".join(map(str, choices))


def _headings(whose: str, count: int) -> list[str]:
    return [whose] if count == 1 else [f"{whose}, set {k}" for k in range(1, count + 1)]
