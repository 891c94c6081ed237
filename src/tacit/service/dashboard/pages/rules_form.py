"""The rules of a run as a form: what is disclosed, until when, how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from nicegui import ui

from tacit.disclosure import PARETO, SEALED
from tacit.errors import TacitError
from tacit.problems import Problem
from tacit.service.dashboard.drafts import ObjectiveRule, Rules, run_terms, usual_rule
from tacit.service.dashboard.frame import html, native
from tacit.service.dashboard.leakage import inferred, inferred_markup
from tacit.service.dashboard.pages.number_fields import first_trouble, number_field, whole_number
from tacit.service.dashboard.pages.objective_rules import ObjectiveRules
from tacit.service.dashboard.words import best_words, disclosure_words

PLAN_FOR = {"everybody": "Everybody", "owners": "Each owner, its own rows"}
COMPARED = {"each": "Each by itself", "together": "All together, by how many plans beat each"}
PUBLIC = (
    "Public: everybody knows its weights, which are kept with the run. It decides where the search "
    "goes, too, so that more may be inferred of the others than is said below."
)
ON_LOSS = {"wait": "Wait for it", "three": "Go on with three, unchecked from then on"}


def why_not_together(problem: Problem, /) -> str:
    """Why objectives cannot be compared together, or nothing."""
    if len(problem.objectives) < 2:
        return "A Pareto score compares two objectives or more; this problem has one."
    if not all(each.confidential for each in problem.objectives):
        return "A Pareto score is of confidential objectives; this problem has a public one."
    return ""


class RulesForm:
    """Fields that begin with what the problem's file says, and below them what it means."""

    def __init__(
        self, problem: Problem, rules: Sequence[ObjectiveRule] = (), /, *, nodes: int = 3
    ) -> None:
        """`nodes` is how many the largest cluster has."""
        self._problem = problem
        self._rules = list(rules) or [usual_rule(problem)] * len(problem.objectives)
        self._is_ready = False
        with ui.element("div").classes("fields"):
            self._name = ui.input("Name of the run", value=problem.name).props("outlined dense")
        self._objective_fields()
        self._limit_fields(nodes)
        self._reveal = ui.checkbox("At the end, reveal which of the best-known plans is truly best")
        self._said = html().props('aria-live="polite"')
        self._inferred = html().props('aria-live="polite"')
        self._is_ready = True
        self._say()

    def _objective_fields(self) -> None:
        reason = why_not_together(self._problem)
        said_together = self._rules[0].disclosure.startswith(f"{PARETO}:")
        with ui.element("div").classes("fields"):
            self._compared = ui.select(
                COMPARED,
                value="together" if said_together and not reason else "each",
                label="Objectives are compared",
                on_change=self._say,
            ).props("outlined dense")
        if reason:
            self._compared.disable()
            native("p", reason).classes("hint")
        self._each: dict[int, ObjectiveRules] = {}
        with ui.element("div") as each_by_itself:
            each_by_itself.bind_visibility_from(self._compared, "value", value="each")
            for k, objective in enumerate(self._problem.objectives):
                if len(self._problem.objectives) > 1:
                    native("h3", f"{objective.name}, to {objective.sense}")
                if not objective.confidential:
                    native("p", PUBLIC)
                    continue
                with ui.element("div").classes("fields"):
                    self._each[k] = ObjectiveRules(self._rules[k], self._changed, together=False)
        with ui.element("div").classes("fields") as together:
            together.bind_visibility_from(self._compared, "value", value="together")
            self._together = ObjectiveRules(self._rules[0], self._changed, together=True)

    def _limit_fields(self, nodes: int) -> None:
        with ui.element("div").classes("fields"):
            self._plan = ui.select(
                PLAN_FOR, value="everybody", label="Who learns the plan", on_change=self._say
            ).props("outlined dense")
            self._deadline = number_field("Deadline in seconds", 10, 0.5, 604800)
            self._evaluations = whole_number(
                "Evaluations at most (0: as many as fit into the deadline)", 0, 0, 10_000_000
            )
            for field in (self._deadline, self._evaluations):
                field.on_value_change(self._say)
            self._expiry = whole_number("Signatures expire after hours", 48, 1, 8760)
            self._on_loss = ui.select(ON_LOSS, value="wait", label="If a node is lost").props(
                "outlined dense"
            )
        if nodes < 4:
            self._on_loss.disable()
            native(
                "p", "Only four nodes can lose one and go on; this platform's clusters have three."
            ).classes("hint")

    def trouble(self) -> str | None:
        """What is wrong with a field."""
        rules = [self._together] if self._is_together else list(self._each.values())
        fields = [*(each.k for each in rules), self._deadline, self._evaluations, self._expiry]
        return first_trouble(fields)

    def rules(self) -> Rules:
        """The rules as they are filled in; the API says what is wrong with them."""
        named = [self._rule(k) for k in range(len(self._problem.objectives))]
        first = next(iter(self._each), 0)
        return Rules(
            name=(self._name.value or "").strip(),
            disclosure=named[first].disclosure,
            best=named[first].best,
            deadline_seconds=float(self._deadline.value or 0),
            evaluations=int(self._evaluations.value or 0),
            expiry_hours=float(self._expiry.value or 0),
            reveal_best=bool(self._reveal.value) and self._may_reveal,
            plan=str(self._plan.value) if self._is_sealed else "everybody",
            on_loss=str(self._on_loss.value),
            objectives=tuple(named),
        )

    @property
    def _is_together(self) -> bool:
        return bool(self._compared.value == "together")

    @property
    def _is_sealed(self) -> bool:
        return not self._is_together and any(each.is_sealed for each in self._each.values())

    @property
    def _may_reveal(self) -> bool:
        return len(self._problem.objectives) == 1 and not self._is_sealed

    def _rule(self, objective: int) -> ObjectiveRule:
        if self._is_together:
            return self._together.rule
        each = self._each.get(objective)
        return usual_rule(self._problem) if each is None else each.rule

    def _changed(self, rules: ObjectiveRules) -> None:
        """A sealed search is one of all objectives."""
        if self._is_ready and rules in self._each.values():
            for other in self._each.values():
                if other.is_sealed != rules.is_sealed:
                    other.method.value = SEALED if rules.is_sealed else "top"
        self._say()

    def _say(self) -> None:
        if not self._is_ready:
            return
        self._plan.set_visibility(self._is_sealed)
        self._reveal.set_visibility(self._may_reveal)
        rules = self.rules()
        self._said.set_content(said_markup(self._problem, rules))
        self._inferred.set_content(inferred_from(self._problem, rules))


def said_markup(problem: Problem, rules: Rules, /) -> str:
    """What the platform will learn under these rules."""
    together = rules.objectives[0].disclosure.startswith(f"{PARETO}:")
    several = len(problem.objectives) > 1 and not together
    lines = []
    for objective, rule in zip(problem.objectives, rules.objectives, strict=True):
        if not objective.confidential:
            continue
        shown = disclosure_words(rule.disclosure, for_owners=rules.plan == "owners")
        more = "" if rule.best == "nothing" else f", and {best_words(rule.best)}"
        about = f"Of {objective.name} the" if several else "The"
        lines.append(f"{about} platform will learn {shown}{more}.")
    items = "".join(f"<li>{escape(line)}</li>" for line in dict.fromkeys(lines))
    return f'<ul class="sentences lead">{items}</ul>'


def inferred_from(problem: Problem, rules: Rules, /) -> str:
    """How much could be inferred under these rules, as markup; nothing while they are wrong."""
    try:
        # Whatever the run will be called.
        terms = run_terms(problem, replace(rules, name="draft"))
    except TacitError:
        return ""
    return inferred_markup(inferred(terms))
