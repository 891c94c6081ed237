"""The findings of sections 5.1 and 5.2: one objective, AP and TSP."""

from __future__ import annotations

from functools import partial

import numpy as np

from studies.report.evidence import (
    COARSEST,
    CONFIGURABLE,
    FINEST,
    METHODS,
    Check,
    Evidence,
    Finding,
    show,
)

TWINS = (("quantiles:20", "top:15"), ("quantiles:10", "top:30"), ("quantiles:5", "top:60"))


def of_optimum(evidence: Evidence, column: str, disclosures: list[str]) -> dict[str, float]:
    """Medians of the last generation in percent of the optimum."""
    figures = evidence.figures[column]
    return {name: figures.of_optimum(figures.final[name].median) for name in disclosures}


def low_variability(evidence: Evidence) -> tuple[bool, str]:
    """AP: runs stay close to their median."""
    final = evidence.figures["ap"].final
    widest = max(100 * spread.iqr / spread.median for spread in final.values())
    return widest < 1, f"the widest IQR is {widest:.2f} % of its median"


def fine_best_coarse_worst(column: str, evidence: Evidence) -> tuple[bool, str]:
    """The best configurable median is one of the finest configurations', the worst a coarsest."""
    shares = of_optimum(evidence, column, CONFIGURABLE)
    ranked = sorted(shares, key=lambda name: shares[name], reverse=column == "ap")
    holds = ranked[0] in FINEST and ranked[-1] in COARSEST
    ends = {name: shares[name] for name in (ranked[0], ranked[-1])}
    return holds, f"best and worst, in % of the optimum: {show(ends, 2)}"


def finest_beats_coarsest(column: str, evidence: Evidence) -> tuple[bool, str]:
    """Within each method the finest configuration ends better than the coarsest."""
    figures = evidence.figures[column]
    failing = [
        method
        for method, texts in METHODS.items()
        if not figures.better(evidence.final(column, texts[0]), evidence.final(column, texts[-1]))
    ]
    return not failing, f"not for {', '.join(failing)}" if failing else "for every method"


def twins_start_equal(column: str, evidence: Evidence) -> tuple[bool, str]:
    """Quantiles and top start with the same set where group and count agree."""
    initial = evidence.figures[column].initial
    unequal = [pair for pair in TWINS if initial[pair[0]] != initial[pair[1]]]
    distinct = len({spread.median for spread in initial.values()})
    return not unequal and distinct > 1, f"{distinct} different initial medians in all"


def none_beats_all(column: str, evidence: Evidence) -> tuple[bool, str]:
    """No obfuscation wins against every configuration within the budget."""
    wins = evidence.wins_of(column)
    return wins["none"] == len(wins) - 1, f"none wins {wins['none']} of {len(wins) - 1}"


def order_then_top15(column: str, evidence: Evidence) -> tuple[bool, str]:
    """Order comes next to none, and top:15 first of the configurable."""
    wins = evidence.wins_of(column)
    most = max(wins[name] for name in CONFIGURABLE)
    return wins["order"] > most and wins["top:15"] == most, show(wins)


def buckets_among_worst(column: str, within: int, evidence: Evidence) -> tuple[bool, str]:
    """The bucket configurations are among those with the fewest wins."""
    wins = evidence.wins_of(column)
    bound = sorted(wins.values())[within - 1]
    buckets = {name: float(wins[name]) for name in METHODS["buckets"]}
    return max(buckets.values()) <= bound, f"wins: {show(buckets)}"


def ap_close_to_optimum(evidence: Evidence) -> tuple[bool, str]:
    """AP: every configuration ends within five percent of the optimum."""
    shares = of_optimum(evidence, "ap", list(evidence.figures["ap"].final))
    return min(shares.values()) >= 95, f"the lowest median is {min(shares.values()):.2f} %"


def ap_top15_within_budget(evidence: Evidence) -> tuple[bool, str]:
    """AP: top:15 is near the optimum within the budget (the paper: 96.48 %)."""
    share = evidence.figures["ap"].comparison["top:15"].median
    return share >= 95.5, f"{share:.2f} %; the paper has 96.48 %"


def tsp_coarse_runs_deviate(evidence: Evidence) -> tuple[bool, str]:
    """TSP: the four coarsest configurations vary more between runs than the others."""
    final = evidence.figures["tsp"].final
    share = {name: 100 * spread.iqr / spread.median for name, spread in final.items()}
    coarse = [share[name] for name in COARSEST]
    rest = [value for name, value in share.items() if name not in COARSEST]
    return (
        float(np.mean(coarse)) > float(np.mean(rest)),
        f"mean IQR {np.mean(coarse):.1f} % against {np.mean(rest):.1f} % of the median",
    )


def tsp_coarse_far_from_optimum(evidence: Evidence) -> tuple[bool, str]:
    """TSP: the four coarsest end considerably above the optimum, the others below them."""
    shares = of_optimum(evidence, "tsp", CONFIGURABLE)
    coarse = min(shares[name] for name in COARSEST)
    rest = max(value for name, value in shares.items() if name not in COARSEST)
    return (
        coarse > 130 and coarse > rest,
        f"at least {coarse:.1f} %, the others at most {rest:.1f} %",
    )


def tsp_each_method_can(evidence: Evidence) -> tuple[bool, str]:
    """TSP: each method has a configuration that ends close to the optimum."""
    shares = of_optimum(evidence, "tsp", CONFIGURABLE)
    best = {method: min(shares[name] for name in texts) for method, texts in METHODS.items()}
    return max(best.values()) <= 120, f"best of each, in %: {show(best, 1)}"


def tsp_top15_within_budget(evidence: Evidence) -> tuple[bool, str]:
    """TSP: top:15 comes far within the budget, from random tours (134.41 % from 663.04 %)."""
    figures = evidence.figures["tsp"]
    reached = figures.of_optimum(figures.comparison["top:15"].median)
    start = figures.of_optimum(figures.initial["none"].median)
    return reached < 145 and start > 500, (
        f"{reached:.1f} % from {start:.1f} %; the paper has 134.41 % from 663.04 %"
    )


def ap_findings() -> list[Finding]:
    """Section 5.1."""
    findings: list[tuple[str, str, Check]] = [
        ("low variability", "Individual runs closely follow the median curve.", low_variability),
        ("range", "Last medians of the configurable methods reach from a coarsest "
         "configuration to a finest.", partial(fine_best_coarse_worst, "ap")),
        ("finer is better", "Within each method the median improves with more buckets or "
         "quantiles, a higher threshold or fewer top individuals.",
         partial(finest_beats_coarsest, "ap")),
        ("twins", "The initial performance differs between configurations, but is the same for Q20 "
         "and T15, Q10 and T30, Q5 and T60.", partial(twins_start_equal, "ap")),
        ("order next", "Order has most wins after no obfuscation, and T15 most among the "
         "configurable.", partial(order_then_top15, "ap")),
        ("buckets worst", "Fitness buckets perform worst within the time budget.",
         partial(buckets_among_worst, "ap", 3)),
        ("close to optimum", "The median of the last generation is close to the optimum for all "
         "configurations.", ap_close_to_optimum),
        ("cost of obfuscation", "Within the time budget obfuscation worsens the result: no "
         "obfuscation wins against all.", partial(none_beats_all, "ap")),
        ("top 15 suffices", "Binary information of T15 suffices for near-optimal sets within the "
         "time budget.", ap_top15_within_budget),
    ]  # fmt: skip
    return [Finding("5.1", f"ap: {n}", text, check, ("ap",)) for n, text, check in findings]


def tsp_findings() -> list[Finding]:
    """Section 5.2."""
    findings: list[tuple[str, str, Check]] = [
        ("coarse runs vary", "Runs with B5, Q5, A80 and T60 deviate more from their median than "
         "the others.", tsp_coarse_runs_deviate),
        ("range", "Last medians of the configurable methods reach from a finest "
         "configuration to a coarsest.", partial(fine_best_coarse_worst, "tsp")),
        ("finer is better", "Within each method the median improves with more buckets or "
         "quantiles, a higher threshold or fewer top individuals.",
         partial(finest_beats_coarsest, "tsp")),
        ("coarse is far off", "B5, Q5, A80 and T60 deviate considerably from the optimum.",
         tsp_coarse_far_from_optimum),
        ("order next", "Order has most wins after no obfuscation, and T15 most among the "
         "configurable.", partial(order_then_top15, "tsp")),
        ("buckets among worst", "Fitness buckets perform among the worst within the time budget.",
         partial(buckets_among_worst, "tsp", 5)),
        ("each method can", "At least one configuration of each method comes close to the optimum.",
         tsp_each_method_can),
        ("cost of obfuscation", "Within the time budget obfuscation worsens the result: no "
         "obfuscation wins against all.", partial(none_beats_all, "tsp")),
        ("top 15 within budget", "T15 finds tours of about 134 % of the optimum within the time "
         "budget, from random ones of about 663 %.", tsp_top15_within_budget),
    ]  # fmt: skip
    return [Finding("5.2", f"tsp: {n}", text, check, ("tsp",)) for n, text, check in findings]
