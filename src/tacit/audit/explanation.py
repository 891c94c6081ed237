"""Explain to signatories what an agreement gives away, from the table of measured leakage.

Also what an opened plan tells beside a public start, how much several plans of one sealed agreement
tell together, and what several agreements about the same costs add up to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Literal

from tacit.audit.leakage_table import OPEN_ONLY_A_PLAN, Expected, LeakageFigure, expected_leakage
from tacit.audit.record import first_columns
from tacit.audit.varied_runs import different, parts_that_differ, told_by_plans
from tacit.disclosure import SEALED
from tacit.errors import ParameterError
from tacit.search import parameters_of, resembles_a_preset

if TYPE_CHECKING:
    from tacit.agreement import Agreement
    from tacit.problems import Problem, PublicProblem


MEASURED_KIND = "assignment"
EXCEEDS = 0.02
"""A figure is shown only if it exceeds that of plans in general by this much."""


@dataclass(frozen=True, slots=True)
class PublicStart:
    """The leakage of plans of one kind of problem, from 0 (nothing) to 1 (everything)."""

    alone: float
    """The opened plan by itself."""
    with_start: float
    """The opened plan and the public one."""


SCHEDULES = {30: PublicStart(0.71, 0.71), 100: PublicStart(0.75, 0.77)}
"""Gains by number of rows, for linear costs, which give away more than costs of delays."""
MASKS = {6: PublicStart(0.52, 0.52), 24: PublicStart(0.33, 0.33), 80: PublicStart(0.19, 0.19)}
"""Correlations by allowed pairs per row, for independent costs: few pairs give away more."""


def public_start(agreement: Agreement, /) -> PublicStart | None:
    """Return what was measured on problems like this one; None if the start of a run is secret."""
    problem = agreement.problem
    if not (agreement.sealed and problem.forbidden and problem.kind == MEASURED_KIND):
        return None
    # A schedule tells more than other forbidden pairs do, as everybody knows how delays cost money.
    if first_columns(problem.forbidden, problem.rows) is not None:
        return between(SCHEDULES, min(problem.rows, max(SCHEDULES)))
    allowed = problem.rows * problem.columns - len(set(problem.forbidden))
    return between(MASKS, allowed / problem.rows)


def between(measured: Mapping[int, PublicStart], size: float, /) -> PublicStart:
    """Return the figures at a size: powers of it between and beyond those that were measured.

    Below the smallest its figures are used.

    >>> between({1: PublicStart(0.8, 0.8), 4: PublicStart(0.4, 0.4)}, 16).alone
    0.2
    """
    sizes = sorted(measured)
    at = max((k for k, each in enumerate(sizes[:-1]) if each <= size), default=0)
    low, high = sizes[at], sizes[at + 1]
    share = max(0.0, log(max(size, low) / low) / log(high / low))
    one, other = measured[low], measured[high]
    return PublicStart(
        one.alone * (other.alone / one.alone) ** share,
        one.with_start * (other.with_start / one.with_start) ** share,
    )


def words_for_start(start: PublicStart | None, /, *, plan: float) -> list[str]:
    """Explain the leakage of a public start, where it exceeds that of plans in general.

    >>> words_for_start(PublicStart(0.5, 0.52), plan=0.51)
    []
    """
    if start is None or start.with_start <= plan + EXCEEDS:
        return []
    return [
        "Pairs are forbidden, so the search begins with a plan that everybody can work out, and "
        f"the plan tells more: on similar problems {start.alone:.2f} by itself, and "
        f"{start.with_start:.2f} together with that one."
    ]


@dataclass(frozen=True, slots=True)
class PlansTogether:
    """The leakage of so many plans about one objective, from 0 (nothing) to 1 (everything)."""

    plans: int
    spread: float
    """If their weightings are spread evenly over two objectives."""
    close: float
    """If all of them are close to that objective alone."""


MEASURED = (
    PlansTogether(1, 0.26, 0.26),
    PlansTogether(2, 0.26, 0.33),
    PlansTogether(5, 0.37, 0.43),
    PlansTogether(16, 0.45, 0.60),
    PlansTogether(64, 0.61, 0.75),
    PlansTogether(128, 0.68, 0.81),
)
AFTER_LEAST = 0.34
"""The most that any number of plans gave away after a third of the iterations."""


def plans_together(plans: int, /) -> PlansTogether:
    """The measurement of so many plans, or of the next larger number.

    >>> plans_together(3).plans
    5
    """
    return next((each for each in MEASURED if each.plans >= plans), MEASURED[-1])


def words_for_plans(plans: int, opened: int, /) -> list[str]:
    """Count the plans that an objective has a say in, then say what they add to the figure of one.

    >>> words_for_plans(1, 2)
    ['Of the 2 plans, one for each weighting of the objectives, 1 is of this objective.']
    """
    if opened < 2:
        return []
    counted = (
        f"Of the {opened} plans, one for each weighting of the objectives, {plans} "
        f"{'is' if plans == 1 else 'are'} of this objective."
    )
    if plans < 2:
        return [counted]
    one, together = MEASURED[0], plans_together(plans)
    return [
        counted,
        f"They add up: on 40 x 40 independent values, {together.plans} plans told "
        f"{together.spread:.2f} to {together.close:.2f} of an objective where one told "
        f"{one.close:.2f}, the more the closer the weightings are to each other, or the less the "
        "other objectives vary: the true weights of one may be far below its bound, and all plans "
        "are then of the rest. That is after few steps, as plans are opened where the deadline "
        f"comes first; after a third of all iterations they told at most {AFTER_LEAST:.2f}.",
    ]


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
"""Sentences about prior knowledge, by the name of the prior; those that say nothing are left
out."""
Asks = Literal["nodes", "unmeasured", "platform"]
"""The party that decides what is evaluated: the nodes, by a measured search or another, or the
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
"""Those who learn the plan of a sealed search: with `owners` each its own rows, with `all owners`
each the whole of it."""
BY_EXCLUSION = 0.03
"""The correlation that owners reached on others' costs from their own rows of a plan; most on
30 x 60, nothing where there are as many rows as columns."""
NOTICEABLE = 0.1
"""The margin over the published plan's correlation from which one counts."""


def explain_leakage(agreement: Agreement, /) -> list[str]:
    """A paragraph on each confidential objective: honest search and worst case side by side.

    Of several, each is named, and what holds of some alike is said once.
    """
    confidential = agreement.confidential()
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
            of_plans=words_for_plans(agreement.plans_of(k), agreement.sealed_plans),
            plan_for=plan_for(agreement.known_problem, agreement.plan),
            start=public_start(agreement),
        )
        names.setdefault(words, []).append(repr(terms.name))
    if len(confidential) == 1:
        return [*names]
    return [f"{' and '.join(of_it)}: {words}" for words, of_it in names.items()]


def plan_for(problem: Problem, agreed: str, /) -> PlanFor:
    """Return who learns the plan: of a way through all places nobody can learn just a part."""
    if agreed != "owners":
        return "everybody"
    return "all owners" if problem.between_places else "owners"


def who_asks(agreement: Agreement, /) -> Asks:
    """Return who decides what is evaluated, and whether leakage of such a search was measured."""
    if agreement.search.populations == "chosen":
        return "platform"
    settings = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    try:
        # Unknown settings count as unmeasured: signatories then see the figure of unrestricted
        # queries.
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
    of_plans: Sequence[str] = (),
    plan_for: PlanFor = "everybody",
    start: PublicStart | None = None,
) -> str:
    """One paragraph. All from `best` on but `asks` matters under `sealed` only.

    >>> honest, worst, plan = (LeakageFigure(each, each) for each in (0.5, 0.99, 0.16))
    >>> expected = Expected(
    ...     "range", 0.0, honest, worst, plan, "top:15", beyond=False, smaller=False
    ... )
    >>> run = {"disclosure": "top:15", "evaluations": 500, "population": 300}
    >>> print(explain_expected(expected, costs="costs", **run))
    After 500 evaluations of 300 candidates under top:15, a curious platform that keeps to the \
agreed search could draw a rough picture of your costs (0.50 on a scale from 0, nothing, to 1, \
everything). The nodes derive what is evaluated, so that no platform can ask for anything else. A \
curious node learns what the platform does. The published plan alone tells 0.16.
    """
    words = _Words(expected, f"your {costs}")
    # The platform gets no plan, so the figures of an opened one would overstate what it learns.
    if plan_for != "everybody":
        return " ".join([*words.known_before(), *words.of_owners(best, plan_for), *of_plans[:1]])
    if disclosure in OPEN_ONLY_A_PLAN:
        more = [*words_for_start(start, plan=words.plan), *of_plans]
        return " ".join([*words.known_before(), *words.of_sealed(best, more)])
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
    """The costs with their owner: "your costs"."""

    @property
    def rest(self) -> str:
        """The subject of all figures."""
        return f"the rest of {self.costs}" if self.expected.prior_alone else self.costs

    def figure(self, learned: LeakageFigure) -> float:
        return learned.gain if self.expected.prior_alone else learned.correlation

    def could(self, learned: LeakageFigure) -> str:
        plan = self.figure(self.expected.plan_only)
        return how_much(self.figure(learned), plan_only=plan, costs=self.rest)

    def known_before(self) -> list[str]:
        """Sentences about what is known without the run."""
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

    def _structured(self, learned: LeakageFigure) -> str:
        return (
            f"That is if {self.costs} are unrelated to each other. If they follow a structure "
            f"that it knows, such as distances or a few properties, it {self.could(learned)} "
            f"({learned.correlation:.2f})."
        )

    @property
    def plan(self) -> float:
        """The figure of an opened plan."""
        return self.figure(self.expected.honest)

    def of_sealed(self, best: str, more: Sequence[str]) -> list[str]:
        """A search that opens a plan and nothing else; `more` is about the start and the plans."""
        expected, scale = self.expected, "" if self.expected.prior_alone else f" on {SCALE}"
        plan = self.plan
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
        return [*sentences, *more, *_reservations(expected)]

    def of_owners(self, best: str, plan_for: PlanFor) -> list[str]:
        """A search whose plan only participants get, each its own rows of it where it has any."""
        scale = "" if self.expected.prior_alone else f" on {SCALE}"
        plan = self.plan
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
    """Describe in words what an attacker with such a correlation could do.

    >>> how_much(0.5, plan_only=0.16, costs="your costs")
    'could draw a rough picture of your costs'
    """
    for least, text in BANDS:
        if correlation >= least:
            return text.format(costs=costs)
    more = correlation >= plan_only + NOTICEABLE
    return (LITTLE if more else NOTHING_MORE).format(costs=costs)


@dataclass(frozen=True)
class Together:
    """The sum over agreements; figures are as in `Expected`, from 0 (nothing) to 1 (everything)."""

    agreements: int
    evaluations: dict[str, int]
    """Per disclosure, how many evaluations they allow."""
    plans: int
    """The number of plans that sealed searches open."""
    problems: int
    """How many of the plans are about problems that differ in their mask, rows or columns."""
    counted_as: str
    """The disclosure under which all of them are counted."""
    alone: float
    """The figure for the first agreement by itself."""
    estimate: float
    structured: float | None
    """The estimate for costs of a known structure, where that was measured."""
    beyond: bool
    """Whether there are more candidates than in any measurement, so leakage may be larger."""


def expected_together(terms: Sequence[tuple[Agreement, int]], /) -> Together:
    """The sum for one objective of each agreement, of which the first gives the problem's shape."""
    # Mixtures of disclosures were not measured. Counting all candidates under the disclosure that
    # gives away most errs on the safe side for whoever signs.
    allowed: dict[str, int] = {}
    candidates = plans = 0
    opened_for: list[PublicProblem] = []
    for agreement, objective in terms:
        disclosure, limits = agreement.objectives[objective].disclosure, agreement.limits
        if disclosure in OPEN_ONLY_A_PLAN:
            # A plan for its owners reaches no platform, so it adds nothing to what that can
            # combine.
            searched = agreement.search.algorithm == SEALED
            opened = agreement.sealed_plans if searched else 1
            plans += 0 if agreement.for_owners else opened
            opened_for += [] if agreement.for_owners else [agreement.problem]
            continue
        allowed[disclosure] = allowed.get(disclosure, 0) + limits.evaluations
        candidates += limits.evaluations * limits.population_max
    first, objective = terms[0]
    # A sealed first agreement limits its generations, not candidates.
    size = max(each.limits.population_max for each, _ in terms)
    evaluations = max(1, ceil(candidates / size))
    kinds = [*allowed] or [first.objectives[objective].disclosure]
    found = {
        name: expected_in(
            first, objective, disclosure=name, evaluations=evaluations, population=size
        )
        for name in kinds
    }
    most = max(found, key=lambda name: _figure(found[name]))
    structured = found[most].structured
    estimate = _figure(found[most]) if allowed or plans else 0.0
    if (problems := different(opened_for)) > 1:
        masks, sizes = parts_that_differ(opened_for)
        estimate = max(estimate, told_by_plans(problems, masks=masks, sizes=sizes))
    return Together(
        agreements=len(terms),
        evaluations=allowed,
        plans=plans,
        problems=problems,
        counted_as=most,
        alone=0.0 if first.for_owners else _figure(expected_in(first, objective)),
        estimate=estimate,
        structured=None if structured is None else structured.correlation,
        beyond=found[most].beyond,
    )


def _figure(expected: Expected) -> float:
    """The figure of a platform that follows the search: the gain if a prior guesses something."""
    return expected.honest.gain if expected.prior_alone else expected.honest.correlation
