"""The audit of a recorded run: every attack, measured against the secret."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks import (
    ATTACKS,
    BASELINE,
    anchor,
    known_rows,
    main_attacks,
    node_view,
    tournaments,
    unfaithful,
)
from tacit.audit.record.record import Record
from tacit.audit.record.view import Cells, View, view_of
from tacit.audit.score.counts import counts_of
from tacit.audit.score.measure import Score, Truth, unit_of
from tacit.audit.score.report import AuditReport, Growth, Measured
from tacit.disclosure import Leakage

POINTS = (1 / 30, 1 / 10, 1 / 3)
"""Fractions of the run after which it is also attacked, to see how leakage grows."""
HYPOTHETICAL_SHARE = 10
"""Where all rows have one owner, a tenth of them count as known."""


@dataclass(frozen=True, eq=False)
class Audit:
    """A view, the secret, and the ways to measure the one against the other."""

    view: View
    truth: Truth

    def honest(self) -> dict[str, Measured]:
        """The attacks of a platform that follows the agreed search."""
        found: dict[str, Cells] = {}
        measured = {}
        for name, attack in (ATTACKS | {"known range": anchor.recover_in_range}).items():
            estimate = attack(self.view, found)
            if estimate is not None:
                found[name] = estimate
                who = "anybody" if name == BASELINE else "platform"
                measured[name] = self._measured(estimate, who)
        return measured

    def plan_only(self) -> Measured:
        """What the published plan alone gives away."""
        estimate = ATTACKS[BASELINE](self.view, {})
        assert estimate is not None  # a plan is always there
        return self._measured(estimate, "anybody")

    def informed(self) -> dict[str, Measured]:
        """A participant that colludes with the platform, and a curious node."""
        rows = self.known_rows
        estimate = known_rows.recover(self.view, self.truth.weights, rows)
        others = Truth(
            self.view.problem, self.truth.weights, self.truth.sign, rows, self.truth.optimum
        )
        measured = {
            "known rows": self._measured(estimate, "platform and participant", truth=others)
        }
        return measured | self.node()

    def node(self) -> dict[str, Measured]:
        """A curious node: with the seed it replays tournaments, otherwise it looks for elites."""
        asks = {"tournaments": tournaments.recover, "next population": node_view.recover}
        for name, ask in asks.items():
            estimate = ask(self.view)
            if estimate is not None:
                return {name: self._measured(estimate, "node")}
        return {}

    def unfaithful(self) -> dict[str, Measured]:
        """A platform with unrestricted queries, as many as the run had."""
        asks = {
            "random populations": unfaithful.recover_by_random,
            "crafted populations": unfaithful.recover_by_crafted,
        }
        return {
            name: self._measured(ask(self.view, self.truth.weights), "unfaithful platform")
            for name, ask in asks.items()
        }

    def growth(self) -> list[Growth]:
        """The strongest of the main attacks after parts of the run."""
        counts = sorted({max(2, round(share * self.view.evaluations)) for share in POINTS})
        parts = [self.view.first(each) for each in counts if each < self.view.evaluations]
        return [Growth(part.evaluations, Audit(part, self.truth).main()) for part in parts]

    def main(self) -> Measured:
        """The strongest of the main attacks."""
        measured = [self._measured(each, "platform") for each in main_attacks(self.view).values()]
        return max(measured, key=lambda each: each.correlation)

    @property
    def known_rows(self) -> tuple[int, ...]:
        """The rows of the first participant, or some where there is only one."""
        owners = self.view.problem.owners
        if len(owners) > 1:
            return tuple(owners[0][1])
        return tuple(range(max(1, self.view.problem.rows // HYPOTHETICAL_SHARE)))

    def _measured(self, estimate: Cells, who: str, *, truth: Truth | None = None) -> Measured:
        score: Score = (truth or self.truth).score(estimate, unit=unit_of(self.view, estimate))
        return Measured(who=who, **msgspec.structs.asdict(score))


def audit_of(
    record: Record,
    weights: NDArray[np.float64],
    /,
    *,
    objective: int = 0,
    optimum: float | None = None,
) -> Audit:
    """An audit of one objective; `weights` and `optimum` as the participants would give them."""
    view = view_of(record, objective)
    best = None if optimum is None else view.sign * optimum
    return Audit(view, Truth(view.problem, view.sign * weights, view.sign, optimum=best))


def audit_record(
    record: Record,
    weights: NDArray[np.float64],
    /,
    *,
    objective: int = 0,
    optimum: float | None = None,
) -> AuditReport:
    """Try all attacks and report; the strongest of a semi-honest platform is the headline."""
    audit = audit_of(record, weights, objective=objective, optimum=optimum)
    if not record.sizes:  # a sealed search can be attacked through the opened plans only
        baseline = audit.plan_only()
        return _report(record, objective, {BASELINE: baseline}, BASELINE, [Growth(0, baseline)], {})
    _ = audit.view.design, audit.truth.counts, audit.truth.best_fitness  # shared by both threads
    parts: list[Callable[[], dict[str, Measured]]] = [
        audit.unfaithful, audit.honest, audit.informed,
    ]  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(part) for part in parts]
        growth = pool.submit(audit.growth)
        counts = pool.submit(_both_counts, audit.view)
        unfaithfully, honestly, informedly = (each.result() for each in futures)
    tried = {name: each for name, each in honestly.items() if name != BASELINE}
    strongest = max(tried, key=lambda name: tried[name].correlation)
    whole = Growth(audit.view.evaluations, tried[strongest])
    attacks = honestly | informedly | unfaithfully
    grown = [*growth.result(), whole]
    return _report(record, objective, attacks, strongest, grown, counts.result())


def _report(
    record: Record,
    objective: int,
    attacks: dict[str, Measured],
    strongest: str,
    growth: list[Growth],
    counts: dict[str, Leakage],
) -> AuditReport:
    recorded, headline = record.objectives[objective], attacks[strongest]
    return AuditReport(
        disclosure=recorded.disclosure,
        best=recorded.best,
        problem=record.problem.name,
        evaluations=len(record.sizes),
        candidates=record.candidates,
        correlation=headline.correlation,
        nrmse=headline.nrmse,
        best_columns=headline.best_columns,
        attacker_plan_quality=headline.plan_quality,
        strongest=strongest,
        attacks=attacks,
        growth=growth,
        counts=counts,
    )


def _both_counts(view: View) -> dict[str, Leakage]:
    return {"as the paper counts": counts_of(view, repeats=True), "distinct": counts_of(view)}
