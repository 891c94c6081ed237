"""Checks that the findings on two objectives share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.experiments.report.evidence import (
    CONFIGURABLE,
    METHODS,
    Check,
    Evidence,
    show,
)

ONE, TWO = "moap-one", "moap-two"


def trend(column: str, better_when_finer: dict[str, bool]) -> Check:
    """Whether the finest or the coarsest configuration of a method ends better."""

    def check(evidence: Evidence) -> tuple[bool, str]:
        failing = []
        for method, finer in better_when_finer.items():
            fine, coarse = METHODS[method][0], METHODS[method][-1]
            finest_smaller = evidence.final(column, fine) < evidence.final(column, coarse)
            if finest_smaller != finer:
                failing.append(method)
        return not failing, f"not for {', '.join(failing)}" if failing else "for every method named"

    return check


def none_beats_all(study: str) -> Check:
    """No obfuscation wins against every configuration, in both metrics."""

    def check(evidence: Evidence) -> tuple[bool, str]:
        both = [evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+")]
        holds = all(wins["none"] == len(wins) - 1 for wins in both)
        return holds, f"none wins {both[0]['none']} (GD+) and {both[1]['none']} (IGD+) of 13"

    return check


def best_of_configurable(column: str, names: Sequence[str], within: int) -> Check:
    """The named configurations are among those of the configurable with most wins."""

    def check(evidence: Evidence) -> tuple[bool, str]:
        wins = evidence.wins_of(column)
        bound = sorted((wins[name] for name in CONFIGURABLE), reverse=True)[within - 1]
        named = {name: float(wins[name]) for name in names}
        return min(named.values()) >= bound, f"wins: {show(named)}"

    return check


def worst_of_all(column: str, names: Sequence[str], within: int) -> Check:
    """The named configurations are on average among those with the fewest wins."""

    def check(evidence: Evidence) -> tuple[bool, str]:
        wins = evidence.wins_of(column)
        bound = sorted(wins.values())[within - 1]
        named = {name: float(wins[name]) for name in names}
        return float(np.median(list(named.values()))) <= bound, f"wins: {show(named)}"

    return check


def most_wins_in_sum(study: str, names: Sequence[str], within: int) -> Check:
    """The named configurations have most wins of the configurable, both metrics added up."""

    def check(evidence: Evidence) -> tuple[bool, str]:
        gd, igd = (evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+"))
        sums = {name: float(gd[name] + igd[name]) for name in CONFIGURABLE}
        ranked = sorted(sums, key=lambda name: -sums[name])
        bound = sums[ranked[within - 1]]
        best = {name: sums[name] for name in ranked[:4]}
        return all(sums[name] >= bound for name in names), f"most: {show(best)}"

    return check


def metrics_disagree(study: str) -> Check:
    """Some configuration is in the upper half by GD+ and the lower half by IGD+, and vice versa."""

    def check(evidence: Evidence) -> tuple[bool, str]:
        gd, igd = (evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+"))
        apart = {name: gd[name] - igd[name] for name in CONFIGURABLE}
        most, least = max(apart, key=lambda n: apart[n]), min(apart, key=lambda n: apart[n])
        extremes = f"{most} wins {gd[most]} and {igd[most]}, {least} {gd[least]} and {igd[least]}"
        return apart[most] >= 3 and apart[least] <= -3, f"GD+ and IGD+: {extremes}"

    return check


def skew(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """How much further a set is in the second objective than in the first, on average."""
    return float((points[:, 1] - points[:, 0]).mean())
