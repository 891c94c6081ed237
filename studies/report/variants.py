"""Run the same studies with one thing changed: ties, edge crossover, or wrong operators."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from studies.evaluation.study import SearchStudy
from studies.report.agreement import (
    Assessed,
    StageScores,
    assess,
    by_original_rule,
    count_below,
    figures_at,
    root_mean_square,
    z_on_same_instance,
    z_scores,
)
from studies.report.results import COLUMNS, Column, Results, published_figures
from studies.statistics import Spread
from studies.study import Rows, Seeds
from studies.tables import Block, Cell, ReportTable, plain
from tacit.search import TIES

TIES_PREFIX = "ties-"
CONFIGURATIONS = ("none", "quantiles:5", "top:60", "above:95", "above:90", "above:80")
TIES_SEEDS = 11
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
            name=f"{TIES_PREFIX}{ties}",
            title=f"{study.title}, ties: {ties}",
            parameters={**study.parameters, "ties": ties},
            disclosures=CONFIGURATIONS,
            instances=study.instances[:1],
            seeds=Seeds(study.seeds.first, min(TIES_SEEDS, study.seeds.count)),
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
            way = study.name.removeprefix(TIES_PREFIX)
            by_way[way] = results.figures(column, instance, {}).final
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


CONTROL_PREFIX = "control-"
WRONG_OPERATORS = {
    "ap": {"crossover": "partially-mapped", "mutation": "insert"},
    "tsp": {"crossover": "order", "mutation": "insert"},
    "moap-one": {"crossover": "partially-mapped", "mutation": "insert"},
    "moap-two": {"crossover": "partially-mapped", "mutation": "insert"},
}
SEEDS, SEEDS_OF_OWN_INSTANCE = 6, 15
"""Few, to keep it short: six can differ significantly, five cannot."""


def smaller(study: SearchStudy, /) -> SearchStudy:
    """The runs that the control is made of: all instances, but of the TSP the paper's, few seeds.

    >>> from studies.evaluation.study import shipped_study
    >>> [len(list(smaller(shipped_study(name)).jobs())) for name in ("ap", "tsp")]
    [420, 210]
    """
    own = study.name == "tsp"
    count = min(study.seeds.count, SEEDS_OF_OWN_INSTANCE if own else SEEDS)
    return msgspec.structs.replace(
        study,
        instances=study.instances[:1] if own else study.instances,
        seeds=Seeds(study.seeds.first, count),
    )


def control_of(study: SearchStudy, /) -> SearchStudy:
    """The same runs with the wrong operators."""
    few = smaller(study)
    return msgspec.structs.replace(
        few,
        name=f"{CONTROL_PREFIX}{study.name}",
        parameters={**few.parameters, **WRONG_OPERATORS[study.name]},
    )


@dataclass(frozen=True)
class Agreement:
    """How well the runs of some studies agree with the paper."""

    findings: dict[str, bool]
    """By the original rule."""
    scores: dict[str, float]
    """z-scores by column, stage and disclosure, without those of the initial population, which
    operators cannot change."""

    def of(self, study: str, /) -> Agreement:
        """What belongs to one study."""
        return Agreement(
            {name: holds for name, holds in self.findings.items() if _study(name) == study},
            {name: z for name, z in self.scores.items() if _study(name) == study},
        )


def agreement(assessed: Sequence[Assessed], scored: Sequence[StageScores], /) -> Agreement:
    """What was found by both tests."""
    scores = {
        f"{each.column.name}: {each.stage}: {text}": z
        for each in scored
        if each.stage != "initial"
        for text, z in each.scores.items()
    }
    return Agreement(by_original_rule(assessed), scores)


def agreement_of(results: Results, generations: Mapping[str, int], /) -> Agreement:
    """The same for any runs."""
    figures = figures_at(results, generations)
    pooled = {each.name: results.pooled_figures(each, generations) for each in results.columns()}
    return agreement(assess(results, figures, pooled), z_scores(figures))


def control_table(whole: Agreement, same: Agreement, wrong: Agreement, /) -> ReportTable:
    """What holds with the paper's operators and with wrong ones, study by study."""
    studies = list(dict.fromkeys(map(_study, whole.findings)))
    rows = []
    for study in (*studies, ""):
        cells = [Cell(study or "all")]
        parts = [each.of(study) if study else each for each in (whole, same, wrong)]
        cells += [Cell(_share(part.findings.values())) for part in parts]
        cells += [Cell(_below_two(part)) for part in parts]
        cells += [Cell(_root_mean_square(part)) for part in parts]
        rows.append(tuple(cells))
    runs = ("all runs", "the control's runs", "wrong operators")
    measures = ("findings hold", "|z| below 2", "root mean square of z")
    operators = "; ".join(
        f"{study}: {wrong['crossover']} and {wrong['mutation']}"
        for study, wrong in WRONG_OPERATORS.items()
    )
    return ReportTable(
        "table-control",
        "Control: the paper's operators against wrong ones",
        ("study", *(f"{measure}: {which}" for measure in measures for which in runs)),
        tuple(rows),
        f"Wrong on purpose ({operators}), everything else as in the paper; {SEEDS} seeds on each "
        f"instance, of the TSP {SEEDS_OF_OWN_INSTANCE} on the paper's own. The control's runs: the "
        "same instances and seeds with the paper's operators, so that only operators differ. "
        "Findings by the original rule; medians of the last and of the comparison generation. What "
        "passes with wrong operators is no evidence.",
    )


def control_blocks(
    whole: Agreement, results: Results, control: Results | None, generations: Mapping[str, int], /
) -> tuple[list[Block], dict[str, object] | None]:
    """The table, and the same for `summary.json`."""
    if control is None:
        return ["The control with wrong operators is not part of a quick reproduction."], None
    same = agreement_of(
        results.part({name: smaller(study) for name, study in results.studies.items()}), generations
    )
    wrong = agreement_of(control, generations)
    entry = {
        name: {
            study or "all": _entry(each.of(study) if study else each)
            for study in (*results.studies, "")
        }
        for name, each in {"all_runs": whole, "same_runs": same, "wrong_operators": wrong}.items()
    }
    return [control_table(whole, same, wrong)], {"operators": WRONG_OPERATORS, **entry}


def _entry(each: Agreement) -> dict[str, object]:
    scores = list(each.scores.values())
    return {
        "findings_holding": sum(each.findings.values()),
        "findings": len(each.findings),
        "z_below_2": count_below(scores),
        "medians": len(scores),
        "z_root_mean_square": round(root_mean_square(scores), 2) if scores else None,
    }


def _study(name: str) -> str:
    """The study of a finding or a column, which begins with its name.

    >>> _study("moap-one: skewed"), _study("moap-one igd+: final: none")
    ('moap-one', 'moap-one')
    """
    return name.partition(":")[0].partition(" ")[0]


def _share(holds: Collection[bool]) -> str:
    return f"{sum(holds)} of {len(holds)}"


def _below_two(each: Agreement) -> str:
    return f"{count_below(each.scores.values())} of {len(each.scores)}" if each.scores else ""


def _root_mean_square(each: Agreement) -> str:
    return f"{root_mean_square(each.scores.values()):.2f}" if each.scores else ""
