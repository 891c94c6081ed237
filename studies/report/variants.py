"""The same runs with one thing changed: how ties are broken, and the variant of edge crossover."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from studies.evaluation.study import SearchStudy
from studies.report.column_figures import published_figures
from studies.report.paper import COLUMNS, Column
from studies.report.results import Results
from studies.report.z_scores import z_on_same_instance
from studies.statistics import Spread
from studies.study import Rows, Seeds
from studies.tables import Block, Cell, ReportTable, plain
from tacit.search import TIES

PREFIX = "ties-"
CONFIGURATIONS = ("none", "quantiles:5", "top:60", "above:95", "above:90", "above:80")
SEEDS = 11
COARSEST = "above:80"
FAR = 2.0
"""Differences of more than two standard errors are highlighted."""
COLUMN_NAMES = ("moap-two gd+", "moap-two igd+")
WORDS = {
    "random": "each sort has a random order of its own, drawn from the seed (the default)",
    "shared": "all sorts of a generation share one random order",
    "first": "offspring before parents (the default until it became a setting)",
    "last": "parents before offspring",
}

Medians = Mapping[str, Mapping[str, Spread]]
"""By way and configuration."""
FiguresByTies = dict[str, dict[str, dict[str, Spread]]]
"""By column, way and configuration."""


def ties_studies(study: SearchStudy, /) -> list[SearchStudy]:
    """A study once per way, smaller: one instance, eleven seeds, six configurations.

    >>> from studies.evaluation.study import shipped_study
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


def ties_figures(studies: Sequence[SearchStudy], rows: Rows, /) -> FiguresByTies:
    """The last generation of finished `ties_studies`."""
    found: FiguresByTies = {}
    for name in COLUMN_NAMES if studies else ():
        column, by_way = COLUMNS[name], found.setdefault(name, {})
        for study in studies:
            # The report knows the study by the name of the paper's.
            results = Results({column.study: study}, rows)
            instance = results.instances(column.study)[0]
            by_way[study.name.removeprefix(PREFIX)] = results.figures(column, instance, {}).final
    return found


def ties_blocks(figures: Mapping[str, Medians], /) -> list[Block]:
    """The section of the report, if there are figures."""
    if not figures:
        return []
    ways = "; ".join(f"`{ties}`: {words}" for ties, words in WORDS.items())
    return [
        "## Ties",
        "A disclosure such as `above` leaves few different estimates, so most candidates are tied, "
        "and how equals are ordered decides who survives and who is at the end of a front. This "
        "is the same search under each way of breaking ties, on one instance, both objectives "
        f"obfuscated. {ways}.",
        *(ties_table(COLUMNS[name], each) for name, each in figures.items()),
        verdict(figures),
    ]


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


def verdict(figures: Mapping[str, Medians], /) -> str:
    """What the ways say of `above:80`, in words."""
    gd, paper = figures["moap-two gd+"], published_figures(COLUMNS["moap-two gd+"]).final
    by_way = {ties: spreads[COARSEST].median for ties, spreads in gd.items()}
    least, most = min(by_way, key=by_way.__getitem__), max(by_way, key=by_way.__getitem__)
    others = max(_factor(gd, each) for each in gd[least] if not each.startswith("above"))
    closer = sum(
        abs(gd["random"][each].median - paper[each].median)
        < abs(before.median - paper[each].median)
        for each, before in gd["first"].items()
    )
    between = by_way[least] <= paper[COARSEST].median <= by_way[most]
    said = (
        f"GD+ of `{COARSEST}` is {by_way[least]:,.0f} (`{least}`) to {by_way[most]:,.0f} "
        f"(`{most}`), a factor of {_factor(gd, COARSEST):.1f}; without `above` the largest factor "
        f"is {others:.1f}. The paper's {paper[COARSEST].median:,.0f} lies "
        f"{'between' if between else 'outside'}. "
    )
    if between:
        said += (
            "So how large the paper's figure is, is an artefact of tie breaking, and so was that "
            "of ours. "
        )
    for name, medians in figures.items():
        ranks = {_ranks(spreads)[COARSEST] for spreads in medians.values()}
        count, label = len(medians[least]), name.split()[-1].upper()
        said += f"By {label} its place among the {count} is {_from_to(ranks)}. "
    return said + (
        f"Our default was `first` ({by_way['first']:,.0f}) and is `random` "
        f"({by_way['random']:,.0f}), which prefers nobody; it was changed for that reason, after "
        f"figures were known. By GD+ it is closer to the paper than before for {closer} of "
        f"{len(gd[least])} configurations."
    )


def _factor(medians: Medians, configuration: str) -> float:
    found = [spreads[configuration].median for spreads in medians.values()]
    return max(found) / min(found)


def _from_to(ranks: Collection[int]) -> str:
    return f"{min(ranks)} to {max(ranks)}" if len(ranks) > 1 else f"{min(ranks)} always"


def _ranks(spreads: Mapping[str, Spread]) -> dict[str, int]:
    """1 for the smallest median."""
    ordered = sorted(spreads, key=lambda each: spreads[each].median)
    return {each: 1 + ordered.index(each) for each in spreads}


def edge_blocks(ours: Results, both_ends: Results, /) -> list[Block]:
    """A table of the last generation's medians on the paper's instance, and what it says.

    `ours` has the study tsp; `both_ends` has the other variant's runs under the same name.
    """
    column = COLUMNS["tsp"]
    theirs = published_figures(column)
    one, other = (
        results.figures(column, results.counted("tsp")[0], {}) for results in (ours, both_ends)
    )
    runs, other_runs = (results.studies["tsp"].seeds.count for results in (ours, both_ends))
    shared = [name for name in other.final if name in one.final and name in theirs.final]
    rows, far = [], [0, 0]
    for name in shared:
        cells = [*plain(name, f"{theirs.final[name].median:,.0f}")]
        for k, figures in enumerate((one, other)):
            z = z_on_same_instance(figures.final[name], theirs.final[name])
            far[k] += abs(z) >= FAR
            cells += [Cell(f"{figures.final[name].median:,.0f}"), Cell(f"{z:+.1f}", abs(z) >= FAR)]
        rows.append(tuple(cells))
    return [
        "A path of edge crossover meets dead ends. `edge` goes on with a random item there; the "
        "textbook first tries the other end of the path (`edge-both-ends`). The paper names its "
        "sources and not its variant.",
        ReportTable(
            "table-edge",
            f"Both variants of edge crossover: tour lengths on {_instance(ours)}, last generation",
            ("disclosure", "paper", "edge", "z", "edge-both-ends", "z"),
            tuple(rows),
            f"Medians; seeds: {runs} and {other_runs}. z: the difference to the paper's median in "
            "standard errors. "
            f"At least {FAR:g} standard errors off: {far[0]} and {far[1]} of {len(shared)}. "
            + _reason(far),
        ),
    ]


def _reason(far: list[int]) -> str:
    if far[0] < far[1]:
        return "So `edge` is what fits the paper, and its preset has it."
    return "These runs do not tell the two apart."


def _instance(results: Results) -> str:
    return results.counted("tsp")[0]
