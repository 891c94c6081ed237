"""The findings of sections 5.3 and 5.4: two objectives, one of them or both obfuscated."""

from __future__ import annotations

from functools import partial

import numpy as np

from studies.report.evidence import (
    CONFIGURABLE,
    METHODS,
    ONE,
    TWO,
    Check,
    Evidence,
    Finding,
    best_of_configurable,
    deviation,
    improvement_after,
    metrics_disagree,
    most_wins_in_sum,
    none_beats_all,
    show,
    skew,
    trend,
    worst_of_all,
)


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
         "obfuscation wins against all.", partial(none_beats_all, ONE), False),
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
         "obfuscation wins against all.", partial(none_beats_all, TWO), (TWO,), False),
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
