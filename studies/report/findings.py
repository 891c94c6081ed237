"""The paper's findings (sections 5.1 to 5.4), each checked against our figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from studies.report.results import ColumnFigures, Curves
from tacit.disclosure import PAPER_CONFIGURATIONS

METHODS = {
    method: [text for text in PAPER_CONFIGURATIONS if text.startswith(f"{method}:")]
    for method in ("buckets", "above", "quantiles", "top")
}
"""Configurations of each method, the one that discloses most first."""
CONFIGURABLE = [text for texts in METHODS.values() for text in texts]
FINEST = [texts[0] for texts in METHODS.values()]
COARSEST = [texts[-1] for texts in METHODS.values()]


@dataclass(frozen=True)
class Evidence:
    """The figures of some runs of each study; curves and fronts only for our own runs."""

    figures: Mapping[str, ColumnFigures]
    curves: Mapping[str, Curves] = field(default_factory=dict)
    fronts: Mapping[str, Mapping[str, NDArray[np.float64]]] = field(default_factory=dict)
    """Points on the scale of the ground truth, nadir 0 and ideal 1."""
    after_holm: bool = False
    """Whether wins count only if they stay significant after Holm's correction."""

    def final(self, column: str, disclosure: str, /) -> float:
        """The median of the last generation."""
        return self.figures[column].final[disclosure].median

    def wins_of(self, column: str, /) -> dict[str, int]:
        """Wins at the comparison generations."""
        figures = self.figures[column]
        return figures.wins_after_holm if self.after_holm else figures.wins


Check = Callable[[Evidence], tuple[bool, str]]
"""Returns whether a finding holds, and the evidence."""


@dataclass(frozen=True)
class Finding:
    """A sentence of the paper's sections 5.1 to 5.4 as a check."""

    section: str
    name: str
    text: str
    check: Check
    studies: tuple[str, ...]
    needs_runs: bool = False
    """Whether curves or fronts are needed, which the paper does not print as numbers."""
    part_of: str = ""
    """The finding that this one was split from after it had failed, which counts in its place
    under the original rules."""


def deviation(runs: NDArray[np.float64], /) -> float:
    """The deviation of runs from their median curve: the mean over generations of IQR / |median|.

    >>> deviation(np.array([[10.0, 10.0], [10.0, 10.0], [10.0, 10.0]]))
    0.0
    """
    low, middle, high = np.percentile(runs, [25, 50, 75], axis=0)
    return float(np.mean((high - low) / np.abs(middle)))


def improvement_after(runs: NDArray[np.float64], share: float, /) -> float:
    """The part of the median curve's improvement that comes after a share of the generations.

    >>> improvement_after(np.array([[10.0, 5.0, 4.0, 3.0, 2.0]]), 0.5)
    0.25
    """
    curve = np.median(runs, axis=0)
    middle = int(share * (len(curve) - 1))
    whole = curve[0] - curve[-1]
    return float((curve[middle] - curve[-1]) / whole) if whole else 0.0


def show(values: Mapping[str, float], /, digits: int = 0) -> str:
    """Values on one line."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


ONE, TWO = "moap-one", "moap-two"


def trend(column: str, better_when_finer: dict[str, bool], evidence: Evidence) -> tuple[bool, str]:
    """Whether the finest or the coarsest configuration of a method ends better."""
    failing = []
    for method, finer in better_when_finer.items():
        fine, coarse = METHODS[method][0], METHODS[method][-1]
        finest_smaller = evidence.final(column, fine) < evidence.final(column, coarse)
        if finest_smaller != finer:
            failing.append(method)
    return not failing, f"not for {', '.join(failing)}" if failing else "for every method named"


def none_beats_all_in_both(study: str, evidence: Evidence) -> tuple[bool, str]:
    """No obfuscation wins against every configuration, in both metrics."""
    both = [evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+")]
    holds = all(wins["none"] == len(wins) - 1 for wins in both)
    return holds, f"none wins {both[0]['none']} (GD+) and {both[1]['none']} (IGD+) of 13"


def best_of_configurable(
    column: str, names: Sequence[str], within: int, evidence: Evidence
) -> tuple[bool, str]:
    """The named configurations are among those of the configurable with most wins."""
    wins = evidence.wins_of(column)
    bound = sorted((wins[name] for name in CONFIGURABLE), reverse=True)[within - 1]
    named = {name: float(wins[name]) for name in names}
    return min(named.values()) >= bound, f"wins: {show(named)}"


def worst_of_all(
    column: str, names: Sequence[str], within: int, evidence: Evidence
) -> tuple[bool, str]:
    """The named configurations are on average among those with the fewest wins."""
    wins = evidence.wins_of(column)
    bound = sorted(wins.values())[within - 1]
    named = {name: float(wins[name]) for name in names}
    return float(np.median(list(named.values()))) <= bound, f"wins: {show(named)}"


def most_wins_in_sum(
    study: str, names: Sequence[str], within: int, evidence: Evidence
) -> tuple[bool, str]:
    """The named configurations have most wins of the configurable, both metrics added up."""
    gd, igd = (evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+"))
    sums = {name: float(gd[name] + igd[name]) for name in CONFIGURABLE}
    ranked = sorted(sums, key=lambda name: -sums[name])
    bound = sums[ranked[within - 1]]
    best = {name: sums[name] for name in ranked[:4]}
    return all(sums[name] >= bound for name in names), f"most: {show(best)}"


def metrics_disagree(study: str, evidence: Evidence) -> tuple[bool, str]:
    """Some configuration is in the upper half by GD+ and the lower half by IGD+, and vice versa."""
    gd, igd = (evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+"))
    apart = {name: gd[name] - igd[name] for name in CONFIGURABLE}
    most, least = max(apart, key=lambda n: apart[n]), min(apart, key=lambda n: apart[n])
    extremes = f"{most} wins {gd[most]} and {igd[most]}, {least} {gd[least]} and {igd[least]}"
    return apart[most] >= 3 and apart[least] <= -3, f"GD+ and IGD+: {extremes}"


def skew(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """How much further a set is in the second objective than in the first, on average."""
    return float((points[:, 1] - points[:, 0]).mean())


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


def one_beats_order_in_gd(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: A80, Q5 and Q10 are among the best in GD+ and have more wins than order."""
    wins = evidence.wins_of(f"{ONE} gd+")
    named = {
        name: float(wins[name]) for name in ("above:80", "quantiles:5", "quantiles:10", "order")
    }
    return min(named[name] for name in list(named)[:3]) > named["order"], f"wins: {show(named)}"


def one_closer_but_poor_cover(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: lower GD+ than without (A95 apart), but much higher IGD+."""
    names = [name for name in CONFIGURABLE if name != "above:95"]
    closer = [
        n for n in names if evidence.final(f"{ONE} gd+", n) < evidence.final(f"{ONE} gd+", "none")
    ]
    worse = [
        n for n in CONFIGURABLE
        if evidence.final(f"{ONE} igd+", n) > 1.2 * evidence.final(f"{ONE} igd+", "none")
    ]  # fmt: skip
    return len(closer) == len(names) and len(worse) == len(CONFIGURABLE), (
        f"GD+ lower for {len(closer)} of {len(names)}, IGD+ higher for {len(worse)} of "
        f"{len(CONFIGURABLE)}"
    )


def one_twins_differ(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: quantiles and top start with different sets."""
    initial = evidence.figures[f"{ONE} gd+"].initial
    pairs = zip(METHODS["quantiles"], METHODS["top"], strict=True)
    equal = [pair for pair in pairs if initial[pair[0]] == initial[pair[1]]]
    return not equal, f"{len(equal)} of 3 pairs are equal"


def one_binary_runs_deviate(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: GD+ of A95, T15, T30 and T60 deviates most from the median curve."""
    spread = {n: 100 * deviation(runs) for n, runs in evidence.curves[f"{ONE} gd+"].items()}
    named = ["above:95", *METHODS["top"]]
    rest = [value for name, value in spread.items() if name not in named]
    mean = float(np.mean([spread[name] for name in named]))
    return mean > float(np.mean(rest)), (
        f"mean IQR {mean:.1f} % of the median curve against {np.mean(rest):.1f} %"
    )


def one_groups_stagnate(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: IGD+ of buckets and quantiles hardly improves in the second half."""
    curves = evidence.curves[f"{ONE} igd+"]
    late = {n: 100 * improvement_after(curves[n], 0.5)
            for n in METHODS["buckets"] + METHODS["quantiles"]}  # fmt: skip
    return max(late.values()) < 10, (
        f"at most {max(late.values()):.1f} % of the improvement comes in the second half"
    )


def one_binary_get_worse(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: IGD+ of above and top increases at some point."""
    curves = evidence.curves[f"{ONE} igd+"]
    risen = {}
    for name in METHODS["above"] + METHODS["top"]:
        curve = np.median(curves[name], axis=0)
        risen[name] = 100 * float(curve[-1] / curve.min() - 1)
    return min(risen.values()) > 0, f"rise above the lowest point, in %: {show(risen)}"


def one_skewed(evidence: Evidence) -> tuple[bool, str]:
    """One obfuscated: sets lean towards the objective in the clear; none and order do not."""
    skews = {name: skew(points) for name, points in evidence.fronts[ONE].items()}
    balanced = max(abs(skews["none"]), abs(skews["order"]))
    leaning = [name for name in CONFIGURABLE if skews[name] > max(balanced, 0.1)]
    return balanced < 0.2 and len(leaning) >= 11, (
        f"{len(leaning)} of 12 lean towards objective 2; none {skews['none']:.2f}, "
        f"order {skews['order']:.2f}"
    )


def one_findings() -> list[Finding]:
    """Section 5.3."""
    findings: list[tuple[str, str, Check, bool]] = [
        ("binary runs deviate", "GD+ of runs with A95, T15, T30 and T60 deviates considerably from "
         "the median curve.", one_binary_runs_deviate, True),
        ("groups stagnate", "IGD+ of fitness buckets and order quantiles stagnates early.",
         one_groups_stagnate, True),
        ("binary get worse", "IGD+ of above threshold and top individuals increases at some point.",
         one_binary_get_worse, True),
        ("coarser is closer", "GD+ at the last generation improves with fewer buckets, quantiles "
         "or top individuals, or a lower threshold.",
         partial(trend, f"{ONE} gd+", dict.fromkeys(METHODS, False) | {"top": True}), False),
        ("finer covers more", "IGD+ at the last generation improves with more buckets, quantiles "
         "or top individuals.",
         partial(trend, f"{ONE} igd+", {"buckets": True, "quantiles": True, "top": False}), False),
        ("twins differ", "Initial populations perform differently under corresponding quantiles "
         "and top individuals.", one_twins_differ, False),
        ("closer, poor cover", "With obfuscation GD+ ends lower than without, except for A95, but "
         "IGD+ is poor.", one_closer_but_poor_cover, False),
        ("skewed", "Sets are skewed towards the objective that is not obfuscated, except with none "
         "and order.", one_skewed, True),
        ("gd+ beats order", "By GD+ A80, Q5 and Q10 are among the best and outperform order.",
         one_beats_order_in_gd, False),
        ("gd+ buckets worst", "By GD+ fitness buckets are among the worst.",
         partial(worst_of_all, f"{ONE} gd+", METHODS["buckets"], 4), False),
        ("igd+ best", "By IGD+ Q20 and B20 are among the best of the configurable.",
         partial(best_of_configurable, f"{ONE} igd+", ("quantiles:20", "buckets:20"), 3), False),
        ("igd+ top worst", "By IGD+ top individuals are among the worst.",
         partial(worst_of_all, f"{ONE} igd+", METHODS["top"], 4), False),
        ("cost of obfuscation", "Within the time budget obfuscation worsens GD+ and IGD+: no "
         "obfuscation wins against all.", partial(none_beats_all_in_both, ONE), False),
        ("metrics disagree", "What is good by GD+ may be poor by IGD+, and vice versa.",
         partial(metrics_disagree, ONE), False),
        ("most wins", "Q20 has most wins of the configurable when those of GD+ and IGD+ are added.",
         partial(most_wins_in_sum, ONE, ("quantiles:20",), 1), False),
    ]  # fmt: skip
    return [Finding("5.3", f"{ONE}: {n}", t, check, (ONE,), runs) for n, t, check, runs in findings]


def two_against_one(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: mostly larger GD+ and smaller IGD+ than with one."""
    farther = [n for n in CONFIGURABLE
               if evidence.final(f"{TWO} gd+", n) > evidence.final(f"{ONE} gd+", n)]  # fmt: skip
    covering = [n for n in CONFIGURABLE
                if evidence.final(f"{TWO} igd+", n) < evidence.final(f"{ONE} igd+", n)]  # fmt: skip
    return len(farther) >= 11 and len(covering) >= 10, (
        f"GD+ is lower with one for {len(farther)} of 12, IGD+ with two for {len(covering)} of 12"
    )


def two_not_skewed(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: sets lean to neither side, or less than with one."""
    one = {name: abs(skew(points)) for name, points in evidence.fronts[ONE].items()}
    two = {name: abs(skew(points)) for name, points in evidence.fronts[TWO].items()}
    less = [name for name in CONFIGURABLE if two[name] < one[name]]
    middle_one = float(np.median([one[name] for name in CONFIGURABLE]))
    middle_two = float(np.median([two[name] for name in CONFIGURABLE]))
    return len(less) >= 9 and middle_two < middle_one / 2, (
        f"{len(less)} of 12 lean less; median lean {middle_two:.2f} against {middle_one:.2f}"
    )


def two_centre_and_extremes(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: buckets and quantiles end in the centre, above and top at the extremes."""

    def spread(name: str) -> float:
        points = evidence.fronts[TWO][name]
        return float(np.abs(points[:, 1] - points[:, 0]).mean())

    centre = [spread(name) for name in METHODS["buckets"] + METHODS["quantiles"]]
    extreme = [spread(name) for name in METHODS["above"] + METHODS["top"]]
    return float(np.median(extreme)) > float(np.median(centre)), (
        f"median distance from the diagonal {np.median(extreme):.2f}, "
        f"against {np.median(centre):.2f}"
    )


def two_above_deviates(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: GD+ of above deviates more from the median curve than the others."""
    spread = {n: 100 * deviation(runs) for n, runs in evidence.curves[f"{TWO} gd+"].items()}
    above = float(np.mean([spread[name] for name in METHODS["above"]]))
    rest = float(np.mean([value for name, value in spread.items() if name not in METHODS["above"]]))
    return above > rest, f"mean IQR {above:.1f} % of the median curve against {rest:.1f} %"


def two_above_increasingly(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: this deviation grows from A80 over A90 to A95."""
    curves = evidence.curves[f"{TWO} gd+"]
    spread = {name: 100 * deviation(curves[name]) for name in METHODS["above"]}
    a95, a90, a80 = spread.values()
    return a95 > a90 > a80, (
        f"mean IQR in % of the median curve: {show(spread, 1)}; the IQRs of the paper's own "
        "Table 12 fall too"
    )


def two_binary_stagnate(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: IGD+ of above and top stagnates early and deviates."""
    curves = evidence.curves[f"{TWO} igd+"]
    binary = METHODS["above"] + METHODS["top"]
    late = max(100 * improvement_after(curves[name], 0.5) for name in binary)
    spread = {name: deviation(curves[name]) for name in curves}
    rest = float(np.mean([value for name, value in spread.items() if name not in binary]))
    mean = float(np.mean([spread[name] for name in binary]))
    return late < 15 and mean > rest, (
        f"at most {late:.1f} % of the improvement comes in the second half; mean IQR "
        f"{100 * mean:.1f} % of the median curve against {100 * rest:.1f} %"
    )


def two_fewer_top_cover_more(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: IGD+ of T15 is below that of T60."""
    final = evidence.figures[f"{TWO} igd+"].final
    medians = {name: final[name].median for name in METHODS["top"]}
    return medians["top:15"] < medians["top:60"], (
        f"medians {show(medians)}, IQR of T15 {final['top:15'].iqr:.0f}; the paper's medians are "
        "51 apart, with an IQR of 2365"
    )


def two_quantiles_then_buckets(evidence: Evidence) -> tuple[bool, str]:
    """Both obfuscated: by IGD+ quantiles win most, then buckets, then above and top."""
    wins = evidence.wins_of(f"{TWO} igd+")
    mean = {m: float(np.mean([wins[name] for name in texts])) for m, texts in METHODS.items()}
    holds = mean["quantiles"] > mean["buckets"] > max(mean["above"], mean["top"])
    return holds, f"mean wins: {show(mean, 1)}"


def two_findings() -> list[Finding]:
    """Section 5.4."""
    finer = {"buckets": True, "quantiles": True}
    findings: list[tuple[str, str, Check, tuple[str, ...], bool]] = [
        ("above deviates", "GD+ of above threshold deviates from the median curve; the others "
         "follow it closely.", two_above_deviates, (TWO,), True),
        ("above increasingly", "This deviation grows from A80 over A90 to A95.",
         two_above_increasingly, (TWO,), True),
        ("binary stagnate", "IGD+ of above threshold and top individuals stagnates early and "
         "deviates.", two_binary_stagnate, (TWO,), True),
        ("more is closer", "GD+ at the last generation improves with more buckets, quantiles or "
         "top individuals, or a higher threshold.",
         partial(trend, f"{TWO} gd+", finer | {"above": True, "top": False}), (TWO,), False),
        ("finer covers more", "IGD+ at the last generation improves with more buckets or quantiles "
         "and, a little, with fewer top individuals.",
         partial(trend, f"{TWO} igd+", finer | {"top": True}), (TWO,), False),
        ("against one", "With both obfuscated GD+ is mostly larger and IGD+ smaller than with one.",
         two_against_one, (ONE, TWO), False),
        ("not skewed", "Sets are not skewed towards a single objective.", two_not_skewed,
         (ONE, TWO), True),
        ("centre and extremes", "Buckets and quantiles end in the centre, above threshold and top "
         "individuals towards the extremes.", two_centre_and_extremes, (TWO,), True),
        ("gd+ top best", "By GD+ T60 and T30 are among the best of the configurable.",
         partial(best_of_configurable, f"{TWO} gd+", ("top:60", "top:30"), 3), (TWO,), False),
        ("gd+ buckets worst", "By GD+ fitness buckets are among the worst.",
         partial(worst_of_all, f"{TWO} gd+", METHODS["buckets"], 4), (TWO,), False),
        ("igd+ order of methods", "By IGD+ quantiles perform best, then buckets; above threshold "
         "and top individuals worst.", two_quantiles_then_buckets, (TWO,), False),
        ("cost of obfuscation", "Within the time budget obfuscation worsens GD+ and IGD+: no "
         "obfuscation wins against all.", partial(none_beats_all_in_both, TWO), (TWO,), False),
        ("metrics disagree", "What is good by GD+ may be poor by IGD+, and vice versa.",
         partial(metrics_disagree, TWO), (TWO,), False),
        ("most wins", "Q20 and Q10 have most wins of the configurable when those of GD+ and IGD+ "
         "are added.", partial(most_wins_in_sum, TWO, ("quantiles:20", "quantiles:10"), 2), (TWO,),
         False),
    ]  # fmt: skip
    found = [Finding("5.4", f"{TWO}: {n}", t, check, s, runs) for n, t, check, s, runs in findings]
    whole = next(i for i, each in enumerate(found) if each.name == f"{TWO}: finer covers more")
    return [*found[: whole + 1], *_parts_of(found[whole]), *found[whole + 1 :]]


def _parts_of(whole: Finding) -> list[Finding]:
    """The two that this finding was split into after it had failed."""
    groups = partial(trend, f"{TWO} igd+", {"buckets": True, "quantiles": True})
    parts: list[tuple[str, str, Check]] = [
        ("more groups cover more", "IGD+ at the last generation improves with more buckets or "
         "quantiles.", groups),
        ("fewer top cover more", "IGD+ at the last generation improves, a little, with fewer top "
         "individuals.", two_fewer_top_cover_more),
    ]  # fmt: skip
    return [
        Finding(whole.section, f"{TWO}: {name}", text, check, (TWO,), part_of=whole.name)
        for name, text, check in parts
    ]
