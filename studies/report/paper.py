"""What the paper published: its tables as data (`data/paper.json`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec


@dataclass(frozen=True)
class Column:
    """One measured quantity of the paper: a study, a metric and the instance it is shown for."""

    name: str
    study: str
    metric: str
    paper_key: str
    larger_is_better: bool = False
    in_percent: bool = False
    """Shown in percent of the optimum, since the instances differ in it."""
    label: str = ""


COLUMNS = {
    column.name: column
    for column in (
        Column("ap", "ap", "mean_fitness", "ap1K100x100", True, True, "AP, % of the optimum"),
        Column("tsp", "tsp", "mean_fitness", "kroD100", label="TSP, length of the tour"),
        *(
            Column(
                f"{study} {short}",
                study,
                metric,
                f"ap2K100x100/{words}-obfuscated/{metric}",
                label=f"MOAP, {words.replace('-', ' ')} obfuscated, {short.upper()}",
            )
            for study, words in (("moap-one", "one-objective"), ("moap-two", "two-objectives"))
            for short, metric in (("gd+", "gd_plus"), ("igd+", "igd_plus"))
        ),
    )
}
"""Six columns, each with a summary and a comparison: twelve columns of medians."""


@cache
def published() -> dict[str, Any]:
    """The data file."""
    raw = (files("studies") / "data" / "paper.json").read_bytes()
    decoded: dict[str, Any] = msgspec.json.decode(raw)
    return decoded
