"""The findings of section 5.4: two objectives, both obfuscated."""

from __future__ import annotations

import numpy as np

from tacit.experiments.report.checks import (
    ONE,
    TWO,
    best_of_configurable,
    metrics_disagree,
    most_wins_in_sum,
    none_beats_all,
    skew,
    trend,
    worst_of_all,
)
from tacit.experiments.report.evidence import (
    CONFIGURABLE,
    METHODS,
    Check,
    Evidence,
    Finding,
    deviation,
    improvement_after,
    show,
)


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
         trend(f"{TWO} gd+", finer | {"above": True, "top": False}), (TWO,), False),
        ("finer covers more", "IGD+ at the last generation improves with more buckets or "
         "quantiles.", trend(f"{TWO} igd+", finer), (TWO,), False),
        ("fewer top cover more", "IGD+ at the last generation improves, a little, with fewer top "
         "individuals.", two_fewer_top_cover_more, (TWO,), False),
        ("against one", "With both obfuscated GD+ is mostly larger and IGD+ smaller than with one.",
         two_against_one, (ONE, TWO), False),
        ("not skewed", "Sets are not skewed towards a single objective.", two_not_skewed,
         (ONE, TWO), True),
        ("centre and extremes", "Buckets and quantiles end in the centre, above threshold and top "
         "individuals towards the extremes.", two_centre_and_extremes, (TWO,), True),
        ("gd+ top best", "By GD+ T60 and T30 are among the best of the configurable.",
         best_of_configurable(f"{TWO} gd+", ("top:60", "top:30"), 3), (TWO,), False),
        ("gd+ buckets worst", "By GD+ fitness buckets are among the worst.",
         worst_of_all(f"{TWO} gd+", METHODS["buckets"], 4), (TWO,), False),
        ("igd+ order of methods", "By IGD+ quantiles perform best, then buckets; above threshold "
         "and top individuals worst.", two_quantiles_then_buckets, (TWO,), False),
        ("cost of obfuscation", "Within the time budget obfuscation worsens GD+ and IGD+: no "
         "obfuscation wins against all.", none_beats_all(TWO), (TWO,), False),
        ("metrics disagree", "What is good by GD+ may be poor by IGD+, and vice versa.",
         metrics_disagree(TWO), (TWO,), False),
        ("most wins", "Q20 and Q10 have most wins of the configurable when those of GD+ and IGD+ "
         "are added.", most_wins_in_sum(TWO, ("quantiles:20", "quantiles:10"), 2), (TWO,), False),
    ]  # fmt: skip
    return [Finding("5.4", f"{TWO}: {n}", t, check, s, runs) for n, t, check, s, runs in findings]
