"""What an agreement gives away, explained to its signatories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tacit.audit.expected.public_start import PublicStart, public_start, words_for_start
from tacit.audit.expected.several_plans import words_for_plans
from tacit.audit.expected.table import OPEN_ONLY_A_PLAN, Expected, Told, expected_leakage
from tacit.audit.record.schedule import first_columns
from tacit.errors import ParameterError
from tacit.search import parameters_of, resembles_a_preset

if TYPE_CHECKING:
    from tacit.agreement import Agreement
    from tacit.problems import Problem

BANDS = (
    (0.97, "could reconstruct {costs} almost exactly"),
    (0.9, "could reconstruct {costs} closely"),
    (0.7, "could draw a good picture of {costs}"),
    (0.4, "could draw a rough picture of {costs}"),
)
LITTLE = "would learn a little about {costs}"
NOTHING_MORE = "would learn hardly more about {costs} than the published plan shows"
SMALL = "Problems as small as this one give away more than was measured."
SCALE = "a scale from 0, nothing, to 1, everything"
KNOWN = {
    "map": "Distances come from a map, so the whole of them follows from few numbers.",
    "schedule": "The schedule is public, and how delays usually cost money is no secret.",
    "linear schedule": "The schedule is public, and that costs grow with the delay is no secret.",
}
"""What attackers know before the run, by the name of the prior; those that say nothing are left
out."""
Asks = Literal["nodes", "unmeasured", "platform"]
"""Who decides what is evaluated: the nodes, by a search that was measured or by another, or the
platform."""
_BEYOND: dict[Asks, str] = {
    "nodes": "The nodes derive what is evaluated, so that no platform can ask for anything else.\n"
    "A curious node learns what the platform does.",
    "unmeasured": "The nodes derive what is evaluated, but this search has settings of its own, "
    "whose leakage was not measured: it may be as much as unrestricted queries tell, whose author "
    "{could} ({figure:.2f}).\n"
    "A curious node learns what the platform does.",
    "platform": "One that breaks the agreement with unrestricted queries {could} ({figure:.2f}); "
    "the nodes' logs show that afterwards.\n"
    "A curious node sees the candidates, and could learn most of what the platform does.",
}
PlanFor = Literal["everybody", "owners", "all owners"]
"""Who learns the plan of a sealed search: with `owners` each its own rows, with `all owners` each
the whole of it."""
BY_EXCLUSION = 0.03
"""What owners found out of the others' costs from their own rows of an optimal plan; most on
30 x 60, nothing where there are as many rows as columns."""
NOTICEABLE = 0.1
"""The margin over the published plan's correlation from which one counts."""


def explain_leakage(agreement: Agreement, /) -> list[str]:
    """A paragraph on each confidential objective: honest search and worst case side by side.

    Of several, each is named, and what holds of some alike is said once.
    """
    # Here, since whoever reads the table needs no agreements.

    plans, confidential = agreement.sealed_plans, agreement.confidential()
    names: dict[str, list[str]] = {}
    for k in confidential:
        terms = agreement.objectives[k]
        words = explain_expected(
            expected_in(agreement, k),
            disclosure=terms.disclosure,
            evaluations=agreement.limits.evaluations,
            population=agreement.limits.population_max,
            costs=costs_or_values(terms.sense),
            best=terms.best,
            asks=who_asks(agreement),
            plans=plans,
            plan_for=plan_for(agreement.known_problem, agreement.plan),
            start=public_start(agreement),
        )
        names.setdefault(words, []).append(repr(terms.name))
    if len(confidential) == 1:
        return [*names]
    return [f"{' and '.join(of_it)}: {words}" for words, of_it in names.items()]


def plan_for(problem: Problem, agreed: str, /) -> PlanFor:
    """Who learns the plan: a way through all places is known as a whole or not at all."""
    if agreed != "owners":
        return "everybody"
    return "all owners" if problem.between_places else "owners"


def who_asks(agreement: Agreement, /) -> Asks:
    """Who decides what is evaluated under an agreement, and whether such a search was measured."""
    if agreement.search.populations == "chosen":
        return "platform"
    settings = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    try:
        written, objectives = parameters_of(settings), len(agreement.objectives)
    except ParameterError:
        return "unmeasured"
    return "nodes" if resembles_a_preset(written, objectives=objectives) else "unmeasured"


def costs_or_values(sense: str, /) -> str:
    """The participants' name for their weights."""
    return "costs" if sense == "minimize" else "values"


def expected_in(
    agreement: Agreement,
    objective: int,
    /,
    *,
    disclosure: str | None = None,
    evaluations: int | None = None,
    population: int | None = None,
) -> Expected:
    """The figures for one objective of an agreement, from 0 (nothing) to 1 (everything).

    What is given besides takes the place of what was agreed.
    """
    problem, limits = agreement.problem, agreement.limits
    return expected_leakage(
        disclosure or agreement.objectives[objective].disclosure,
        kind=problem.kind,
        rows=problem.rows,
        columns=problem.columns,
        population=population or limits.population_max,
        evaluations=evaluations or limits.evaluations,
        scheduled=first_columns(problem.forbidden, problem.rows) is not None,
    )


def explain_expected(
    expected: Expected,
    /,
    *,
    disclosure: str,
    evaluations: int,
    population: int,
    costs: str,
    best: str = "nothing",
    asks: Asks = "nodes",
    plans: int = 1,
    plan_for: PlanFor = "everybody",
    start: PublicStart | None = None,
) -> str:
    """One paragraph. All from `best` on but `asks` matters under `sealed` only.

    >>> told, worse, plan = Told(0.5, 0.5), Told(0.99, 0.99), Told(0.16, 0.16)
    >>> expected = Expected("range", 0.0, told, worse, plan, "top:15", beyond=False, smaller=False)
    >>> run = {"disclosure": "top:15", "evaluations": 500, "population": 300}
    >>> print(explain_expected(expected, costs="costs", **run))
    After 500 evaluations of 300 candidates under top:15, a curious platform that keeps to the \
agreed search could draw a rough picture of your costs (0.50 on a scale from 0, nothing, to 1, \
everything). The nodes derive what is evaluated, so that no platform can ask for anything else. A \
curious node learns what the platform does. The published plan alone tells 0.16.
    """
    words = _Words(expected, f"your {costs}")
    if plan_for != "everybody":
        return " ".join([*words.known_before(), *words.of_owners(best, plan_for)])
    if disclosure in OPEN_ONLY_A_PLAN:
        return " ".join([*words.known_before(), *words.of_sealed(best, plans, start)])
    opening = (
        f"After {evaluations:,} evaluations of {population:,} candidates under {disclosure}, a"
    )
    sentences = [*words.known_before(), *words.of_search(opening, asks)]
    if expected.measured_as != disclosure:
        sentences.append(f"Measured under {expected.measured_as}.")
    if expected.beyond:
        sentences.append("No measurement has as many evaluations: it may be more.")
    return " ".join([*sentences, *_reservations(expected)])


@dataclass(frozen=True)
class _Words:
    """Sentences about one objective; figures are gains where something is known before the run."""

    expected: Expected
    costs: str
    """Whose, as well: "your costs"."""

    @property
    def rest(self) -> str:
        """What the figures are about."""
        return f"the rest of {self.costs}" if self.expected.prior_alone else self.costs

    def figure(self, told: Told) -> float:
        return told.gain if self.expected.prior_alone else told.correlation

    def could(self, told: Told) -> str:
        plan = self.figure(self.expected.plan_only)
        return how_much(self.figure(told), plan_only=plan, costs=self.rest)

    def known_before(self) -> list[str]:
        """What is known without the run."""
        known, expected = KNOWN.get(self.expected.prior), self.expected
        if known is None:
            return []
        if not expected.prior_alone:
            return [f"{known} The figures are for whoever knows that."]
        return [
            f"{known} Whoever knows both can guess {self.costs} before the run begins "
            f"({expected.prior_alone:.2f} on {SCALE}). What follows is what this run adds, on the "
            "same scale for what is still open then."
        ]

    def of_search(self, opening: str, asks: Asks) -> list[str]:
        """A search whose populations are evaluated."""
        expected, scale = self.expected, "" if self.expected.prior_alone else f" on {SCALE}"
        # Whoever breaks the agreement may know the structure, too.
        worst = max(expected.worst, expected.structured_worst or expected.worst, key=self.figure)
        sentences = [
            f"{opening} curious platform that keeps to the agreed search "
            f"{self.could(expected.honest)} ({self.figure(expected.honest):.2f}{scale}).",
            *_BEYOND[asks].format(could=self.could(worst), figure=self.figure(worst)).split("\n"),
            f"The published plan alone tells {self.figure(expected.plan_only):.2f}.",
        ]
        if expected.structured is not None:
            sentences.insert(1, self._structured(expected.structured))
        return sentences

    def _structured(self, told: Told) -> str:
        return (
            f"That is if {self.costs} are unrelated to each other. If they follow a structure "
            f"that it knows, such as distances or a few properties, it {self.could(told)} "
            f"({told.correlation:.2f})."
        )

    def of_sealed(self, best: str, plans: int, start: PublicStart | None) -> list[str]:
        """A search that opens a plan and nothing else."""
        expected, scale = self.expected, "" if self.expected.prior_alone else f" on {SCALE}"
        plan = self.figure(expected.honest)
        learns = how_much(plan, plan_only=0.0, costs=self.rest)
        sentences = [
            "Under sealed nothing but the plan is disclosed. From the plan alone, a curious "
            f"platform that keeps to the agreed search {learns} (about {plan:.2f}{scale}).",
            "One that breaks the agreement gets a plan and no more as well, at most a worse one.",
        ]
        if expected.structured is not None and expected.structured.correlation > plan + NOTICEABLE:
            sentences.insert(1, self._structured(expected.structured))
        if best == "value":
            sentences.append("The total value of the plan is disclosed to it, too.")
        more = [*words_for_start(start, plan=plan), *words_for_plans(plans)]
        return [*sentences, *more, *_reservations(expected)]

    def of_owners(self, best: str, plan_for: PlanFor) -> list[str]:
        """A search whose plan only participants get, each its own rows of it where it has any."""
        scale = "" if self.expected.prior_alone else f" on {SCALE}"
        plan = self.figure(self.expected.honest)
        sentences = [
            "Under sealed, with the plan for its owners alone, a curious platform learns nothing "
            f"of {self.rest} from it (0.00{scale}), whether it keeps to the agreed search or not.",
            f"Every participant learns the plan, which tells it about {plan:.2f}."
            if plan_for == "all owners"
            else "Another participant, or all others together, learn their own rows of the plan "
            "and which columns that leaves; of independent "
            f"{self.costs.removeprefix('your ')} that told at most {BY_EXCLUSION:.2f} where it "
            "was measured.",
        ]
        if best == "value":
            sentences.append("The total value of the plan is disclosed to the platform.")
        return sentences


def _reservations(expected: Expected) -> list[str]:
    other = expected.measured_kind
    text = f"This kind of problem was not measured: the figures are those of the kind {other}."
    return [SMALL] * expected.smaller + [text] * (other is not None)


def how_much(correlation: float, /, *, plan_only: float, costs: str) -> str:
    """What an attacker with such a correlation could do, or would learn.

    >>> how_much(0.5, plan_only=0.16, costs="your costs")
    'could draw a rough picture of your costs'
    """
    for least, text in BANDS:
        if correlation >= least:
            return text.format(costs=costs)
    more = correlation >= plan_only + NOTICEABLE
    return (LITTLE if more else NOTHING_MORE).format(costs=costs)
