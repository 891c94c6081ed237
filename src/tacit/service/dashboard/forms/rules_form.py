"""The rules of a run as a form: what is disclosed, until when, how much."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from nicegui import ui
from nicegui.elements.mixins.disableable_element import DisableableElement

from tacit.disclosure import PARETO, SEALED
from tacit.errors import TacitError
from tacit.problems import Problem
from tacit.service.dashboard.forms.number_fields import (
    Field,
    first_trouble,
    first_wrong,
    number_field,
    whole_number,
)
from tacit.service.dashboard.forms.objective_rules import ObjectiveRules
from tacit.service.dashboard.forms.search_fields import SearchFields
from tacit.service.dashboard.forms.weight_fields import WeightFields
from tacit.service.dashboard.frame import html, native
from tacit.service.dashboard.leakage import inferred, inferred_markup
from tacit.service.dashboard.rules import (
    ObjectiveRule,
    Rules,
    WeightRange,
    run_terms,
    usual_rule,
)
from tacit.service.dashboard.words import best_words, disclosure_words, proof_sentences

PLAN_FOR = {"everybody": "Everybody", "owners": "Each owner, its own rows"}
COMPARED = {"each": "Each by itself", "together": "All together, by how many plans beat each"}
PUBLIC = (
    "Public: everybody knows its weights, which are kept with the run. It decides where the search "
    "goes, too, so that more may be inferred of the others than is said below."
)
FRONT = {
    "nothing": "Nothing more",
    "plans": "Which plans no other one beats",
    "values": "These plans, and what each is worth",
}
MOST = 10_000_000
ON_LOSS = {"wait": "Wait for it", "three": "Go on with three, unchecked from then on"}


def why_not_together(problem: Problem, /) -> str:
    """Why objectives cannot be compared together, or nothing."""
    if len(problem.objectives) < 2:
        return "A Pareto score compares two objectives or more; this problem has one."
    if not all(each.confidential for each in problem.objectives):
        return "A Pareto score is of confidential objectives; this problem has a public one."
    return ""


class RulesForm:
    """Fields that begin with given rules, and below them what they mean."""

    def __init__(
        self, problem: Problem, start: Rules, /, *, nodes: int = 3, named: str = "run"
    ) -> None:
        """`nodes` is how many the largest cluster has; `named` is what the name is of."""
        self._problem, self._start = problem, start
        self._is_ready = False
        with ui.element("div").classes("fields"):
            self._name = ui.input(
                f"Name of the {named}",
                value=start.name,
                validation=lambda text: None if (text or "").strip() else "Give a name",
            ).props('outlined dense maxlength="200"')
        self._objective_fields()
        self._limit_fields(nodes)
        self._reveal = ui.checkbox(
            "At the end, reveal which of the best-known plans is truly best",
            value=start.reveal_best,
        )
        self._search = SearchFields(problem, start.search, start.distinct_min, self._say)
        self._said = html().props('aria-live="polite"')
        self._inferred = html().props('aria-live="polite"')
        self._is_ready = True
        self._say()

    def _objective_fields(self) -> None:
        reason = why_not_together(self._problem)
        rules = self._start.objectives
        said_together = rules[0].disclosure.startswith(f"{PARETO}:")
        if len(self._problem.objectives) > 1:
            native("h3", "The objectives")
        with ui.element("div").classes("fields") as compared:
            self._compared = ui.select(
                COMPARED,
                value="together" if said_together and not reason else "each",
                label="Objectives are compared",
                on_change=self._say,
            ).props("outlined dense")
        compared.set_visibility(len(self._problem.objectives) > 1)
        if reason and len(self._problem.objectives) > 1:
            self._compared.disable()
            native("p", reason).classes("hint")
        with ui.element("div").classes("fields") as together:
            together.bind_visibility_from(self._compared, "value", value="together")
            self._together = ObjectiveRules(rules[0], self._changed, together=True)
            self._front = ui.select(
                FRONT, value=self._start.front, label="At the end, reveal", on_change=self._say
            ).props("outlined dense")
        self._each: dict[int, ObjectiveRules] = {}
        self._weights: dict[int, WeightFields] = {}
        for k, objective in enumerate(self._problem.objectives):
            if len(self._problem.objectives) > 1:
                native("h3", f"{objective.name}, to {objective.sense}")
            if not objective.confidential:
                native("p", PUBLIC)
                continue
            with ui.element("div").classes("fields") as by_itself:
                by_itself.bind_visibility_from(self._compared, "value", value="each")
                self._each[k] = ObjectiveRules(rules[k], self._changed, together=False)
            with ui.element("div").classes("fields"):
                self._weights[k] = WeightFields(objective, self._say)

    def _limit_fields(self, nodes: int) -> None:
        start = self._start
        if len(self._problem.objectives) > 1:
            native("h3", "The run")
        with ui.element("div").classes("fields"):
            self._plan = ui.select(
                PLAN_FOR, value=start.plan, label="Who learns the plan", on_change=self._say
            ).props("outlined dense")
            self._deadline = number_field(
                "Deadline in seconds", start.deadline_seconds, 0.5, 604800
            )
            self._evaluations = whole_number("Evaluations at most", start.evaluations, 0, MOST)
            self._evaluations.props('hint="0: as many as fit the deadline"')
            for field in (self._deadline, self._evaluations):
                field.on_value_change(self._say)
            self._expiry = number_field(
                "Signatures expire after hours", start.expiry_hours, 0.01, 8760
            )
            self._on_loss = ui.select(
                ON_LOSS, value=start.on_loss, label="If a node is lost"
            ).props("outlined dense")
        if nodes < 4:
            self._on_loss.disable()
            native(
                "p", "Only four nodes can lose one and go on; this platform's clusters have three."
            ).classes("hint")

    @property
    def _fields(self) -> list[Field]:
        rules = [self._together] if self._is_together else list(self._each.values())
        weights = [field for each in self._weights.values() for field in each.fields]
        limits = [self._deadline, self._evaluations, self._expiry]
        return [self._name, *(each.k for each in rules), *weights, *limits, *self._search.fields]

    def leave_as_signed(self) -> None:
        """Of a run of a series: only its name, deadline and evaluations can be filled in."""
        fields: list[DisableableElement | None] = [self._compared, self._front, self._plan]
        fields += [self._expiry, self._on_loss, self._reveal]
        for rules in (self._together, *self._each.values()):
            fields += [rules.method, rules.k, rules.best]
        for weights in self._weights.values():
            fields += [weights.largest, weights.decimals]
        for field in filter(None, fields):
            field.disable()
        self._search.box.set_visibility(False)

    def trouble(self) -> str | None:
        """What is wrong with a field."""
        return first_trouble(self._fields)

    def wrong_field(self) -> Field | None:
        """The first field that is wrong, in sight then."""
        field = first_wrong(self._fields)
        if field is not None and field in self._search.fields:
            self._search.open()
        return field

    def field_of(self, refusal: str, /) -> Field | None:
        """The field that a refusal is about, in sight then."""
        field = self._search.field_of(refusal)
        if field is not None:
            self._search.open()
            return field
        starts: dict[str, Field] = {
            "the name of the run": self._name,
            "the deadline": self._deadline,
            "the number of evaluations": self._evaluations,
            "the hours until": self._expiry,
        }
        return next((each for start, each in starts.items() if refusal.startswith(start)), None)

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
            ranges=tuple(self._range(k) for k in range(len(self._problem.objectives))),
            search=self._search.search,
            front=str(self._front.value) if self._is_together else "nothing",
            distinct_min=self._search.distinct_min,
        )

    def _range(self, objective: int) -> WeightRange:
        known = self._problem.objectives[objective]
        filled_in = self._weights[objective].weights if objective in self._weights else None
        return filled_in or WeightRange(known.weight_bound, known.scale)

    @property
    def _is_together(self) -> bool:
        return bool(self._compared.value == "together")

    @property
    def _is_sealed(self) -> bool:
        return not self._is_together and any(each.is_sealed for each in self._each.values())

    @property
    def _most_label(self) -> str:
        return "Steps at most" if self._is_sealed else "Evaluations at most"

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
        self._evaluations.props(f'label="{self._most_label}"')
        self._search.show(sealed=self._is_sealed)
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
    if any(rule.disclosure == SEALED for rule in rules.objectives):
        lines += proof_sentences(problem.kind, rules.search.parameters)
    items = "".join(f"<li>{escape(line)}</li>" for line in dict.fromkeys(lines))
    return f'<ul class="sentences lead">{items}</ul>'


def inferred_from(problem: Problem, rules: Rules, /) -> str:
    """How much could be inferred under these rules, as markup; nothing while they are wrong."""
    try:
        # Whatever the run will be called.
        terms = run_terms(problem, replace(rules, name="draft"))
    except TacitError:
        return ""
    markup = inferred_markup(inferred(terms))
    return f"<h3 class='spaced'>What could be inferred</h3>{markup}" if markup else ""
