"""A tuned set beside the paper's."""

from __future__ import annotations

from tacit.experiments.paper import published
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


def rows_beside_paper(tuned: Tuned, study: str, /) -> list[tuple[str, str, str]]:
    """Rows of setting, ours and the paper's, the values last.

    >>> found = Tuned([TunedSet({"tournament": 16}, (0.0188,))], [], ("relative_error",))
    >>> rows_beside_paper(found, "ap")[-1]
    ('relative_error', '0.0188', '0.0190')
    """
    ours, paper = tuned.best[0], published_sets(study)
    theirs = paper[-1] if paper else TunedSet({}, ())
    rows = [
        (name, str(value), str(theirs.settings.get(name, "-")))
        for name, value in ours.settings.items()
    ]
    for k, metric in enumerate(tuned.metrics):
        published_value = f"{theirs.values[k]:.4f}" if theirs.values else "-"
        rows.append((metric, f"{ours.values[k]:.4f}", published_value))
    return rows
