"""How much of a result is due to the way ties are broken: the same runs under each of the ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tacit.experiments.execution.run_study import StudyRun
from tacit.experiments.paper import COLUMNS, Column
from tacit.experiments.report.column_figures import published_figures
from tacit.experiments.report.results import Results
from tacit.experiments.report.table import Block, Cell, ReportTable
from tacit.experiments.statistics import Spread
from tacit.experiments.study.study import Seeds, Study
from tacit.search import FORMER_TIES, TIES

PREFIX = "ties-"
CONFIGURATIONS = ("none", "quantiles:5", "top:60", "above:95", "above:90", "above:80")
SEEDS = 11
WORDS = {
    "random": "each sort has a random order of its own, drawn from the seed (the default)",
    "shared": "all sorts of a generation share one random order",
    "first": "offspring before parents (the default until it became a setting)",
    "last": "parents before offspring",
}

Medians = Mapping[str, Mapping[str, Spread]]
"""By way and configuration."""


def ties_studies(study: Study, /) -> list[Study]:
    """A study once per way, smaller: one instance, eleven seeds, six configurations.

    >>> from tacit.experiments.study.study import shipped_study
    >>> [len(list(each.jobs())) for each in ties_studies(shipped_study("moap-two"))]
    [66, 66, 66, 66]
    """
    return [
        msgspec.structs.replace(
            study,
            name=f"{PREFIX}{ties}",
            title=f"{study.title}, ties: {ties}",
            parameters={**study.parameters, "ties": ties},
            disclosures=CONFIGURATIONS,
            instances=study.instances[:1],
            seeds=Seeds(study.seeds.first, min(SEEDS, study.seeds.count)),
        )
        for ties in TIES
    ]


def ties_blocks(studies: Sequence[Study], finished: Mapping[str, StudyRun], /) -> list[Block]:
    """The section of the report about finished `ties_studies` of MOAP, if there are any."""
    if not studies:
        return []
    columns = [COLUMNS["moap-two gd+"], COLUMNS["moap-two igd+"]]
    found = [_medians(column, studies, finished) for column in columns]
    runs = studies[0].seeds.count
    ways = "; ".join(f"`{ties}`: {words}" for ties, words in WORDS.items())
    return [
        "## Ties",
        "A disclosure such as `above` leaves few different estimates, so most candidates are tied, "
        "and who survives, and who is at the end of a front, is a matter of how equals are "
        f"ordered. The same search under each way (`ties`), {runs} seeds, one instance, both "
        f"objectives obfuscated. {ways}.",
        *(ties_table(column, each) for column, each in zip(columns, found, strict=True)),
        verdict(found[0]),
    ]


def _medians(
    column: Column, studies: Sequence[Study], finished: Mapping[str, StudyRun]
) -> dict[str, dict[str, Spread]]:
    found = {}
    for study in studies:
        # The report knows the study by the name of the paper's.
        results = Results({column.study: study}, {column.study: finished[study.name].store})
        instance = results.instances(column.study)[0]
        found[study.name.removeprefix(PREFIX)] = results.figures(column, instance, {}).final
    return found


def ties_table(column: Column, medians: Medians, /) -> ReportTable:
    """Median, interquartile range and rank of each configuration under each way."""
    paper = published_figures(column).final
    configurations = list(next(iter(medians.values())))
    columns = {"the paper": {each: paper[each] for each in configurations}, **medians}
    ranks = {name: _ranks(spreads) for name, spreads in columns.items()}
    rows = [
        (
            Cell(each),
            *(
                Cell(f"{spreads[each].median:,.0f} ({spreads[each].iqr:,.0f}), {ranks[name][each]}")
                for name, spreads in columns.items()
            ),
        )
        for each in configurations
    ]
    return ReportTable(
        f"table-ties-{'igd' if 'igd' in column.name else 'gd'}",
        f"Ties: {column.label}, last generation",
        ("configuration", *columns),
        tuple(rows),
        "Median (interquartile range), rank among these configurations; smaller is better.",
    )


def verdict(medians: Medians, /, *, configuration: str = "above:80") -> str:
    """What the ways say of a configuration's GD+, in words.

    >>> ways = {"random": 17.0, "shared": 14.0, "first": 13.0, "last": 26.0}
    >>> found = {ties: {"above:80": Spread(1000 * way, 1)} for ties, way in ways.items()}
    >>> print(verdict(found))  # doctest: +ELLIPSIS
    GD+ of `above:80` is 13,000 (`first`) to 26,000 (`last`), and the paper's 16,270 lies between...
    """
    by_way = {ties: spreads[configuration].median for ties, spreads in medians.items()}
    least, most = min(by_way, key=by_way.__getitem__), max(by_way, key=by_way.__getitem__)
    paper = published_figures(COLUMNS["moap-two gd+"]).final[configuration].median
    ranks = {ties: _ranks(spreads)[configuration] for ties, spreads in medians.items()}
    between = by_way[least] <= paper <= by_way[most]
    said = (
        f"GD+ of `{configuration}` is {by_way[least]:,.0f} (`{least}`) to {by_way[most]:,.0f} "
        f"(`{most}`), and the paper's {paper:,.0f} lies {'between' if between else 'outside'}. "
    )
    if between:
        said += (
            "So the paper's figure for it, and where `above` stands in the ranking, is an artefact "
            "of tie breaking, and so was ours. "
        )
    return said + (
        f"Our default was `{FORMER_TIES}` ({by_way[FORMER_TIES]:,.0f}, rank {ranks[FORMER_TIES]} "
        f"of {len(medians[FORMER_TIES])}) and is `random` ({by_way['random']:,.0f}, rank "
        f"{ranks['random']}), which prefers nobody. It was changed after these figures were "
        "known, for that reason, and not because it fits the paper better."
    )


def _ranks(spreads: Mapping[str, Spread]) -> dict[str, int]:
    """1 for the smallest median."""
    ordered = sorted(spreads, key=lambda each: spreads[each].median)
    return {each: 1 + ordered.index(each) for each in spreads}
