"""Audit a recorded run: try every attack, measure it against the secret, and report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.audit.measure import Score, Truth, counts_of, unit_of
from tacit.audit.node_attacks import from_next_population, from_tournaments
from tacit.audit.platform_attacks import (
    ATTACKS,
    BASELINE,
    anchored_in_range,
    from_known_rows,
    main_attacks,
)
from tacit.audit.prior_choice import priors_that_fit
from tacit.audit.prior_knowledge import PriorKnowledge
from tacit.audit.record import Record
from tacit.audit.unfaithful_platform import random_view, recover_by_crafted, recover_from
from tacit.audit.view import Cells, View, view_of
from tacit.disclosure import Leakage
from tacit.files import writing


class Measured(Score, frozen=True):
    """An attack's score, and who could carry it out."""

    who: str = "platform"


class Growth(msgspec.Struct, frozen=True):
    """The strongest attack after this many evaluations."""

    evaluations: int
    measured: Measured


class AuditReport(msgspec.Struct, frozen=True):
    """The report on one run.

    The first figures are those of the strongest attack of a platform that follows the search.
    """

    disclosure: str
    best: str
    problem: str
    evaluations: int
    candidates: int
    prior: str
    """The prior that knows most before the run; gains are beyond its guess."""
    prior_says: str
    correlation: float
    gain: float
    nrmse: float
    best_columns: float
    attacker_plan_quality: float
    strongest: str
    attacks: dict[str, Measured]
    growth: list[Growth]
    counts: dict[str, Leakage]

    def to_json(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)


BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def plot_growth(report: AuditReport, path: str | Path, /) -> None:
    """Draw into a PNG, SVG or PDF file, by the file's ending."""
    # Not pyplot: its figures are global state, and it may open a window.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    counts = [each.evaluations for each in report.growth]
    growth = [each.measured.correlation for each in report.growth]
    axes.plot(counts, growth, color=BLUE, marker="o", label="platform that follows the search")
    crafted = report.attacks.get("crafted populations")
    if crafted is not None:
        axes.plot([report.evaluations], [crafted.correlation], color=ORANGE, marker="D", ls="",
                  label="platform with unrestricted queries")  # fmt: skip
    baseline = report.attacks[BASELINE].correlation
    axes.axhline(baseline, color=GREY, ls=":", label="the published plan alone")
    axes.set(xlabel="evaluations", ylabel="correlation with the secret weights", ylim=(0, 1.02))
    axes.set_title(f"{report.problem}, {report.disclosure}", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)
    with writing(path):
        figure.savefig(path, dpi=150)


POINTS = (1 / 30, 1 / 10, 1 / 3)
"""Fractions of the run after which it is also attacked, to see how leakage grows."""
PRIOR = "prior alone"
NO_PLAN = "no plan"
"""A sealed search opened its plan to the owners, so there is nothing to attack."""
HYPOTHETICAL_SHARE = 10
"""Where all rows have one owner, a tenth of them count as known."""


@dataclass(frozen=True, eq=False)
class Audit:
    """A view, the secret, and the ways to measure the one against the other."""

    view: View
    truth: Truth
    priors: tuple[PriorKnowledge, ...]
    """The priors that attackers may have; the first is the most likely one."""

    @cached_property
    def prior(self) -> PriorKnowledge:
        """The prior that knows most before the run; the first, if none knows anything."""
        return max(
            self.priors, key=lambda each: self.truth.score(each.guess(self.view)).correlation
        )

    @cached_property
    def measuring(self) -> Truth:
        """The secret, to measure also what is gained beyond the best prior's guess."""
        return replace(self.truth, guess=self.prior.guess(self.view))

    def prior_alone(self) -> Measured:
        """The score of the best prior's guess, without the run."""
        return self._measured(self.prior.guess(self.view), "anybody")

    def honest(self) -> dict[str, Measured]:
        """The attacks of a platform that follows the agreed search."""
        found: dict[str, Cells] = {}
        for name, attack in (ATTACKS | {"known range": anchored_in_range}).items():
            estimate = attack(self.view, found)
            if estimate is not None and name != BASELINE:
                found[name] = estimate
        found |= self._with_priors(self.view, found)
        measured = {name: self._measured(each, "platform") for name, each in found.items()}
        return {BASELINE: self.plan_only()} | measured

    def plan_only(self) -> Measured:
        """Return the score of the published plan alone, by the prior that infers most from it."""
        # Owners alone have the plan, so the platform is left with what it knew before the run.
        if not self.view.plans_published:  # nobody but its owners has it: the guess of before
            return self._measured(self.prior.guess(self.view), "platform")
        measured = [self._measured(each.from_plan(self.view), "anybody") for each in self.priors]
        return max(measured, key=strength)

    def _with_priors(self, view: View, found: Mapping[str, Cells]) -> dict[str, Cells]:
        estimates = {each.name: each.from_disclosed(view, found) for each in self.priors}
        return {name: each for name, each in estimates.items() if each is not None}

    def informed(self) -> dict[str, Measured]:
        """A participant that colludes with the platform, and a curious node."""
        rows = self.known_rows
        # Its own rows are no discovery: only cells of the other participants count.
        others = replace(self.measuring, known_rows=rows)
        if not others.counts.any():  # nothing is left to find
            return self.node()
        estimate = from_known_rows(self.view, self.truth.weights, rows)
        measured = {
            "known rows": self._measured(estimate, "platform and participant", truth=others)
        }
        return measured | self.node()

    def node(self) -> dict[str, Measured]:
        """A curious node: with the seed it replays tournaments, otherwise it looks for elites."""
        # Tournaments come first: where the seed is known they find more than the next population
        # does.
        asks = {"tournaments": from_tournaments, "next population": from_next_population}
        for name, ask in asks.items():
            estimate = ask(self.view)
            if estimate is not None:
                return {name: self._measured(estimate, "node")} | self._candidates()
        return self._candidates()

    def _candidates(self) -> dict[str, Measured]:
        """The attacks on candidates without values, by attackers with prior knowledge."""
        found = {each.name: each.from_candidates(self.view) for each in self.priors}
        return {
            f"{name}, no values": self._measured(each, "node")
            for name, each in found.items()
            if each is not None
        }

    def unfaithful(self) -> dict[str, Measured]:
        """A platform with unrestricted queries, as many as the run had."""
        # Real nodes refuse such queries. The attack shows what a participant risks if operators
        # allow them.
        queried = random_view(self.view, self.truth.weights)
        found = {"random populations": recover_from(queried)}
        for name, estimate in self._with_priors(
            queried, {"pointwise": found["random populations"]}
        ).items():
            found[f"random, {name}"] = estimate
        found["crafted populations"] = recover_by_crafted(self.view, self.truth.weights)
        return {name: self._measured(each, "unfaithful platform") for name, each in found.items()}

    def growth(self) -> list[Growth]:
        """The strongest of the main attacks after parts of the run."""
        counts = sorted({max(2, round(share * self.view.evaluations)) for share in POINTS})
        parts = [self.view.first(each) for each in counts if each < self.view.evaluations]
        return [Growth(each.evaluations, replace(self, view=each).main()) for each in parts]

    def main(self) -> Measured:
        """The strongest of the main attacks, with and without prior knowledge."""
        found = main_attacks(self.view)
        found |= self._with_priors(self.view, found)
        measured = [self._measured(each, "platform") for each in found.values()]
        return max(measured, key=strength)

    @property
    def known_rows(self) -> tuple[int, ...]:
        """The rows of the first participant, or some where there is only one."""
        owners = self.view.problem.owners
        if len(owners) > 1:
            return tuple(owners[0][1])
        return tuple(range(max(1, self.view.problem.rows // HYPOTHETICAL_SHARE)))

    def _measured(self, estimate: Cells, who: str, *, truth: Truth | None = None) -> Measured:
        score: Score = (truth or self.measuring).score(estimate, unit=unit_of(self.view, estimate))
        return Measured(who=who, **msgspec.structs.asdict(score))


def strength(score: Score, /) -> tuple[float, float]:
    """The key by which attacks are compared: the correlation, then the gain."""
    return score.correlation, score.gain


def audit_of(
    record: Record,
    weights: NDArray[np.float64],
    /,
    *,
    objective: int = 0,
    optimum: float | None = None,
    priors: Sequence[PriorKnowledge] | None = None,
) -> Audit:
    """An audit of one objective; `weights` and `optimum` as the participants would give them.

    `priors` are what attackers may know before the run: by default all that fit the problem.
    """
    view = view_of(record, objective)
    # Everything below is internal: larger is better, whatever the sense of the objective.
    best = None if optimum is None else view.sign * optimum
    truth = Truth(view.problem, view.sign * weights, view.sign, optimum=best)
    return Audit(view, truth, tuple(priors or priors_that_fit(view.problem)))


def audit_record(
    record: Record,
    weights: NDArray[np.float64],
    /,
    *,
    objective: int = 0,
    optimum: float | None = None,
    priors: Sequence[PriorKnowledge] | None = None,
) -> AuditReport:
    """Try all attacks and report; the strongest of a semi-honest platform is the headline."""
    audit = audit_of(record, weights, objective=objective, optimum=optimum, priors=priors)
    # No population was evaluated, so there is nothing to fit and no growth to draw.
    if not record.sizes:  # a sealed search can be attacked through the opened plans only
        baseline = audit.plan_only()
        name = BASELINE if audit.view.plans_published else NO_PLAN
        attacks = {PRIOR: audit.prior_alone(), name: baseline}
        return _report(record, objective, audit, attacks, name, [Growth(0, baseline)], {})
    # Computed once, before the threads that share them start.
    _ = audit.view.design, audit.measuring.counts, audit.measuring.best_fitness
    groups: list[Callable[[], dict[str, Measured]]] = [
        audit.unfaithful, audit.honest, audit.informed,
    ]  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(each) for each in groups]
        growth = pool.submit(audit.growth)
        counts = pool.submit(_both_counts, audit.view)
        unfaithfully, honestly, informedly = (each.result() for each in futures)
    parts = growth.result()
    # An attacker need not use all that it has: a model of the costs may fit a part better.
    honestly |= {f"first {each.evaluations}": each.measured for each in parts}
    # The baseline is what anybody gets from the plan. As the headline it would hide what the run
    # adds.
    tried = {name: each for name, each in honestly.items() if name != BASELINE}
    strongest = max(tried, key=lambda name: strength(tried[name]))
    attacks = {PRIOR: audit.prior_alone()} | honestly | informedly | unfaithfully
    grown = [*parts, Growth(audit.view.evaluations, tried[strongest])]
    return _report(record, objective, audit, attacks, strongest, grown, counts.result())


def _report(
    record: Record,
    objective: int,
    audit: Audit,
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
        prior=audit.prior.name,
        prior_says=audit.prior.says,
        correlation=headline.correlation,
        gain=headline.gain,
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
