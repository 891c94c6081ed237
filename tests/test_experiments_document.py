"""Figures of docs/experiments.md on the reproduction are those that `make reproduce` wrote.

Run as a program (`python -m tests.test_experiments_document`) this fills them in.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
import pytest
from studies.report.agreement import root_mean_square

from tests.support.repository import ROOT

PAGE = ROOT / "docs/experiments.md"
DATA = ROOT / "studies/data/reproduced.json"
COLUMNS = {
    "tsp": ("tsp", "TSP, kroD100"),
    "ap": ("ap", "AP"),
    "one_gd": ("moap-one gd+", "MOAP, one obfuscated, GD+"),
    "one_igd": ("moap-one igd+", "MOAP, one obfuscated, IGD+"),
    "two_gd": ("moap-two gd+", "MOAP, two obfuscated, GD+"),
    "two_igd": ("moap-two igd+", "MOAP, two obfuscated, IGD+"),
}
STUDIES = {
    "ap": ("ap", "AP", 9, 28),
    "tsp": ("tsp", "TSP", 9, 28),
    "one": ("moap-one", "MOAP, one obfuscated", 15, 56),
    "two": ("moap-two", "MOAP, two obfuscated", 14, 56),
}
METHODS = {"order": 172, "quantiles": 109, "top": 170, "buckets": 54, "above": 181}
DELAYS = (0, 1, 10)
UNKNOWN = "?"

Figures = dict[str, str]


def reached(method: str, delay: int) -> str:
    each = f"{method}_{delay}"
    return f"{{{each}}} ({{{each}_low}} to {{{each}_high}})"


def leading(column: str, delay: int) -> str:
    best, worst = (f"{column}_{which}_{delay}" for which in ("best", "worst"))
    return f"`{{{best}}}` {{{best}_n}}, `{{{worst}}}` {{{worst}_n}}"


PHRASES = [
    "Of the 42 medians on kroD100, {tsp_below} are less than two standard errors",
    *(
        f"| {label} | {{{key}_below}} | {{{key}_beyond}} | {{{key}_rms}} | {{{key}_within}} |"
        for key, (_, label) in COLUMNS.items()
    ),
    "With wrong operators {wrong_holding} of {wrong_findings} findings still hold, against "
    "{same_holding} of {same_findings} on the same seeds",
    *(
        f"| {label} | {{same_{key}_holding}} of {findings} | {{wrong_{key}_holding}} of {findings} "
        f"| {{same_{key}_below}} of {medians} | {{wrong_{key}_below}} of {medians} "
        f"| {{same_{key}_rms}} | {{wrong_{key}_rms}} |"
        for key, (_, label, findings, medians) in STUDIES.items()
    ),
    "By the original rules {holding} of 47 findings hold; with wins after Holm's correction "
    "{holm_holding} of 47. By the later rule it is {later_holding} of 48. By the original rules "
    "these do not hold: {failing}.",
    "is between {least} and {most} in the twelve columns by the original rule, lowest in "
    "{least_column}; by the later one between {later_least} and {later_most}.",
    "Of 91 pairs {wins_ap} differ significantly on the first AP instance, {holm_ap} after Holm's "
    "correction; on kroD100 {wins_tsp} and {holm_tsp}.",
    *(
        f"| {method} | {paper} | {' | '.join(reached(method, delay) for delay in DELAYS)} |"
        for method, paper in METHODS.items()
    ),
    *(
        f"| {label} | `{{{key}_best}}`, `{{{key}_worst}}` | "
        f"{' | '.join(leading(key, delay) for delay in DELAYS)} |"
        for key, (_, label) in COLUMNS.items()
    ),
    "{ends} of these {of_ends} stay so at the ends of the measured times, {method_ends} if any "
    "configuration of the same method counts",
    "reaches generation 500 under {reach_500} of 6 methods at 10 ms",
]


def agreement_figures(data: dict[str, Any]) -> Figures:
    found: Figures = {}
    for key, (column, _) in COLUMNS.items():
        stages = [
            data["z_scores"][f"{column} {stage}"]
            for stage in ("initial", "final", "comparison")
            if f"{column} {stage}" in data["z_scores"]
        ]
        if stages:
            scores = [z for stage in stages for z in stage["z"].values()]
            found |= {
                f"{key}_below": str(sum(stage["below_2"] for stage in stages)),
                f"{key}_beyond": str(sum(stage["beyond_limit"] for stage in stages)),
                f"{key}_rms": f"{root_mean_square(scores):.2f}",
                f"{key}_within": str(sum(stage["within_larger_iqr"] for stage in stages)),
            }
    failing = [f"`{name}`" for name, holds in data["findings"].items() if not holds]
    spearman, later = data["spearman"], data["later_rule"]["spearman"]
    found |= {
        "holding": str(sum(data["findings"].values())),
        "holm_holding": str(sum(data["findings_after_holm"].values())),
        "later_holding": str(sum(data["later_rule"]["findings"].values())),
        "failing": ", ".join(failing),
        "least": f"{min(spearman.values()):.2f}",
        "most": f"{max(spearman.values()):.2f}",
        "least_column": f"`{min(spearman, key=lambda name: spearman[name])}`",
        "later_least": f"{min(later.values()):.2f}",
        "later_most": f"{max(later.values()):.2f}",
    }
    for column in ("ap", "tsp"):
        wins = data["significant_wins"][column]
        found |= {
            f"wins_{column}": str(wins["uncorrected"][0]),
            f"holm_{column}": str(wins["holm"][0]),
        }
    return found


def control_figures(data: dict[str, Any]) -> Figures:
    if not isinstance(data["control"], dict):
        return {}
    found: Figures = {}
    for name, runs in (("same", "same_runs"), ("wrong", "wrong_operators")):
        entry = data["control"][runs]
        found[f"{name}_holding"] = str(entry["all"]["findings_holding"])
        found[f"{name}_findings"] = str(entry["all"]["findings"])
        for key, (study, *_) in STUDIES.items():
            if not entry[study]["medians"]:
                continue
            found |= {
                f"{name}_{key}_holding": str(entry[study]["findings_holding"]),
                f"{name}_{key}_below": str(entry[study]["z_below_2"]),
                f"{name}_{key}_rms": f"{entry[study]['z_root_mean_square']:.2f}",
            }
    return found


def engine_figures(data: dict[str, Any]) -> Figures:
    if not isinstance(data["engine"], dict):
        return {}
    found: Figures = {}
    ends: list[bool] = []
    method_ends: list[bool] = []
    for each in data["engine"]["delays"]:
        delay = f"{each['latency_ms']:g}"
        for method in METHODS:
            generations = each["generations"][method]
            found[f"{method}_{delay}"] = str(generations["median"])
            found[f"{method}_{delay}_low"] = str(generations["low"])
            found[f"{method}_{delay}_high"] = str(generations["high"])
        for key, (column, _) in COLUMNS.items():
            leaders = each["leaders"][column]
            for which in ("best", "worst"):
                found[f"{key}_{which}_{delay}"] = leaders[which]
                sure = leaders[f"{which}_sure"]
                found[f"{key}_{which}_{delay}_n"] = str(sure["same"])
                ends.append(sure["at_ends"])
                method_ends.append(sure["method_at_ends"])
        if delay == "10":
            last = each["generations_in_papers_seconds"].values()
            found["reach_500"] = str(sum(generation == 500 for generation in last))
    for key, (column, _) in COLUMNS.items():
        leaders = data["engine"]["leaders_with_papers_times"][column]
        found |= {f"{key}_{which}": leaders[which] for which in ("best", "worst")}
    found |= {"ends": str(sum(ends)), "of_ends": str(len(ends))}
    return found | {"method_ends": str(sum(method_ends))}


@cache
def figures() -> Figures:
    data = msgspec.json.decode(DATA.read_bytes())
    return agreement_figures(data) | control_figures(data) | engine_figures(data)


def pattern(phrase: str) -> re.Pattern[str]:
    """The phrase with any figures, on any number of lines; a list of names may stand in quotes."""
    figure = r"(\?|`[^`]+`(?:,\s`[^`]+`)*|[^\s|`();]*[^\s|`();.,])"
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in re.split(r"\{\w+\}", phrase)]
    return re.compile(figure.join(parts))


def filled(text: str, phrase: str) -> str:
    """The page with the phrase's figures as they should be."""
    found = list(pattern(phrase).finditer(text))
    assert len(found) == 1, f"stands {len(found)} times in {PAGE.name}: {phrase}"
    for i, name in reversed(list(enumerate(re.findall(r"\{(\w+)\}", phrase), start=1))):
        start, end = found[0].span(i)
        figure = figures().get(name, UNKNOWN)
        if " ".join(text[start:end].split()) != figure:
            text = text[:start] + figure + text[end:]
    return text


@pytest.mark.parametrize("phrase", PHRASES)
def test_the_page_has_the_figures_of_the_last_reproduction(phrase: str) -> None:
    text = PAGE.read_text()
    shown = pattern(phrase).search(text)
    assert filled(text, phrase) == text, f"{PAGE.name} says: {shown and shown[0]}"


def test_a_wrong_figure_is_noticed() -> None:
    phrase = next(phrase for phrase in PHRASES if "{holding}" in phrase)
    text = PAGE.read_text()
    place = pattern(phrase).search(text)
    assert place
    changed = text[: place.start(1)] + "49" + text[place.end(1) :]
    assert filled(changed, phrase) == text


if __name__ == "__main__":
    page = PAGE.read_text()
    for each in PHRASES:
        page = filled(page, each)
    PAGE.write_text(page)
