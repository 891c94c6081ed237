"""A control: the paper's studies with operators that are wrong on purpose.

A test of agreement is worth something if it fails where it should. Each of these studies has
another crossover and another mutation than the paper's, both from the spaces in which the paper
tuned; everything else is the same. What still passes with them tells nothing about the operators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from studies.evaluation.study import SearchStudy
from studies.report.agreement import Assessed, assess, by_original_rule, figures_at
from studies.report.results import Results
from studies.report.z_scores import StageScores, count_below, root_mean_square, z_scores
from studies.study import Seeds
from studies.tables import Block, Cell, ReportTable

PREFIX = "control-"
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
        name=f"{PREFIX}{study.name}",
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
