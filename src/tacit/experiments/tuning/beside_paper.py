"""A tuned set beside the paper's, or beside the one that the study started from."""

from __future__ import annotations

from dataclasses import asdict

from tacit.experiments.paper import published
from tacit.experiments.study.study import Study
from tacit.experiments.tuning.tune import Tuned, TunedSet


def published_sets(study: str, /) -> list[TunedSet]:
    """The paper's best sets for a study, the one it goes on with last.

    >>> published_sets("ap")[0].values
    (0.019,)
    >>> published_sets("my-study")  # a name starts with that of a class of the paper, or has none
    []
    """
    entry = published()["tuned"].get(study.partition("-")[0])
    if entry is None:
        return []
    return [
        TunedSet(dict(settings), tuple(values))
        for settings, values in zip(entry["sets"], entry["values"], strict=True)
    ]


def known_set(study: Study, /) -> tuple[str, TunedSet]:
    """What a tuned set is compared with, and whose it is; of a preset no values are on record.

    >>> from tacit.experiments.study.study import shipped_study
    >>> known_set(shipped_study("sealed-tsp"))[0]
    'sealed-tsp'
    """
    paper = published_sets(study.name)
    if paper:
        return "the paper's", paper[-1]
    return study.preset, TunedSet(asdict(study.search), ())


def rows_beside(theirs: TunedSet, tuned: Tuned, /) -> list[tuple[str, str, str]]:
    """Rows of setting, ours and theirs, the values last.

    >>> found = Tuned([TunedSet({"tournament": 16}, (0.0188,))], [], ("relative_error",))
    >>> rows_beside(published_sets("ap")[-1], found)[-1]
    ('relative_error', '0.0188', '0.0190')
    """
    ours = tuned.best[0]
    rows = [
        (name, str(value), str(theirs.settings.get(name, "-")))
        for name, value in ours.settings.items()
    ]
    for k, metric in enumerate(tuned.metrics):
        published_value = f"{theirs.values[k]:.4f}" if theirs.values else "-"
        rows.append((metric, f"{ours.values[k]:.4f}", published_value))
    return rows
