"""Fill in the rules of a run, with a box of advanced settings, and say what they disclose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct
from nicegui import ui
from nicegui.elements.mixins.disableable_element import DisableableElement

from tacit.client import RunTerms, converted
from tacit.disclosure import BEST, DISCLOSURES, PARETO, SEALED, parse_disclosure
from tacit.errors import ParameterError, TacitError
from tacit.plain_text import nearest_word
from tacit.problems import Problem
from tacit.runs import changed, parse_changes, parse_weighting, setting_names
from tacit.search import PRESETS, SearchParameters, crossovers, mutations, preset_named
from tacit.search.moves import AssignmentParameters, TourParameters
from tacit.service.dashboard.disclosures import inferred, inferred_markup, to_be_disclosed
from tacit.service.dashboard.drafts import ObjectiveRule, terms_about, usual_rule
from tacit.service.dashboard.fields import (
    Field,
    WeightFields,
    choice,
    first_wrong,
    name_field,
    number_field,
    whole_number,
)
from tacit.service.dashboard.frame import html, native, sentences_list, table

EXPIRY_HOURS = 48.0
LIKE_A_PRESET = (
    "Nodes take only searches that are like a preset, of 100 plans or more and with no fewer that "
    "are kept, unless their operators allow others."
)


class RunSettings(Struct, frozen=True):
    """What can be set of a run besides its search."""

    evaluations: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    expiry_hours: Annotated[float, Meta(gt=0, le=24 * 365)] = EXPIRY_HOURS
    distinct_min: Annotated[int, Meta(ge=1, le=100_000)] = 1
    reveal_best: bool = False
    front: Literal["nothing", "plans", "values"] = "nothing"
    on_loss: Literal["wait", "three"] = "wait"
    grace_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    weightings: str = ""


MEANINGS = {
    "evaluations": "evaluations at most, or steps of a sealed run; 0: as many as fit the deadline",
    "expiry_hours": "hours after which signatures expire",
    "distinct_min": "different plans of an evaluation, at least",
    "reveal_best": "at the end, reveal which of the best-known plans is truly best",
    "front": "of objectives together, what is revealed at the end of the plans that none beats",
    "on_loss": "if one of four nodes is lost: wait for it, or go on with three, unchecked",
    "grace_seconds": "seconds without a sign of life until a node is lost; 10 or more is safe",
    "weightings": "of a sealed run of several objectives, one plan each, such as 3:1, 1:1",
}


def search_kind(problem: Problem, /, *, sealed: bool) -> type[Any]:
    """Return the class whose fields are the settings of a search."""
    if not sealed:
        return SearchParameters
    return TourParameters if problem.sealed_moves == "tour" else AssignmentParameters


def lines_of(terms: RunTerms, /) -> str:
    """Write the settings that differ from the usual ones, one per line."""
    known = {
        **msgspec.structs.asdict(terms.limits),
        "reveal_best": terms.reveal_best,
        "front": terms.front,
        "on_loss": terms.on_loss,
        "grace_seconds": terms.grace_seconds,
        "weightings": ", ".join(terms.weightings),
    }
    # Terms have no number where a run takes as many as fit; a line has 0.
    known["evaluations"] = terms.limits.evaluations or 0
    usual = msgspec.structs.asdict(RunSettings())
    differ = {name: value for name, value in known.items() if value != usual[name]}
    return "\n".join(
        f"{name}={_shown(value)}" for name, value in {**differ, **terms.parameters}.items()
    )


def _shown(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def rules_in(text: str, problem: Problem, /, *, sealed: bool) -> dict[str, Any]:
    """Return the rules that lines of settings stand for, as terms have them.

    An error names the setting that is wrong, and what to write in its place.
    """
    given = parse_changes([line for line in text.splitlines() if line.strip()])
    kind = search_kind(problem, sealed=sealed)
    of_run = set(RunSettings.__struct_fields__)
    known = [*RunSettings.__struct_fields__, *setting_names(kind)]
    for name in given:
        if name not in known:
            near = nearest_word(name, known)
            what = f"did you mean {near}?" if near else f"use one of {', '.join(known)}"
            raise ParameterError(f"{name!r} is not a setting of this run; {what}")
    search = {name: value for name, value in given.items() if name not in of_run}
    # The defaults fill what was not named, so that the checks of a search run; only what was
    # named is kept, and the rest fits the problem.
    whole = changed(kind(), search)
    of_run_given = {name: value for name, value in given.items() if name in of_run}
    run = converted(of_run_given, RunSettings, strict=False)
    weightings = [each.strip() for each in run.weightings.replace(";", ",").split(",")]
    weightings = [each for each in weightings if each]
    _check_weightings(weightings, len(problem.objectives))
    return {
        "parameters": {name: getattr(whole, name) for name in search},
        "weightings": weightings,
        "limits": {
            "evaluations": run.evaluations or None,
            "expiry_hours": run.expiry_hours,
            "distinct_min": run.distinct_min,
        },
        "reveal_best": run.reveal_best,
        "front": run.front,
        "on_loss": run.on_loss,
        "grace_seconds": run.grace_seconds,
    }


def _but_evaluations(rules: dict[str, Any]) -> dict[str, Any]:
    return {**rules, "limits": {**rules["limits"], "evaluations": None}}


def _check_weightings(weightings: list[str], objectives: int) -> None:
    for each in weightings:
        if len(parse_weighting(each)) != objectives:
            raise ParameterError(
                f"weightings: {each} has another number of factors; give {objectives}, one per "
                "objective"
            )


class AdvancedBox:
    """A text field of settings, which says below it what is wrong with them."""

    def __init__(
        self, problem: Problem, start: RunTerms, nodes: int, changed: Callable[[], None], /
    ) -> None:
        """`nodes` is how many the largest cluster has."""
        self._problem, self._nodes, self._sealed = problem, nodes, False
        self._signed: dict[str, Any] | None = None
        text = lines_of(start)
        with ui.element("details").classes("more-fields") as self.box:
            native("summary", "Advanced settings")
            self.field = ui.textarea(
                "Settings, a line of name=value each", value=text, validation=self.trouble
            ).props('outlined autogrow spellcheck=false input-class="settings"')
            # Not at every key: an error sends the field anew, with the text that the server knows
            # by then, and on a slow connection that would undo what was typed since.
            self.field.without_auto_validation().on("blur", self.field.validate)
            self.field.on_value_change(changed)
            native("p", LIKE_A_PRESET).classes("hint")
            self._known = html()
        if text:
            self.open()

    def open(self) -> None:
        self.box.props("open")

    def leave_as_signed(self) -> None:
        """Refuse changes of what all have signed with the series: everything but evaluations."""
        self._signed = _but_evaluations(self.rules)

    def show(self, *, sealed: bool, preset: str | None) -> None:
        """List the settings; a sealed run has others."""
        other_kind, self._sealed = sealed != self._sealed, sealed
        self._known.set_content(settings_table(self._problem, preset, sealed=sealed))
        if other_kind:
            self.field.validate()

    def trouble(self, text: str | None) -> str | None:
        """Return what is wrong with the settings, or nothing."""
        try:
            rules = rules_in(text or "", self._problem, sealed=self._sealed)
        except TacitError as error:
            return str(error)[:1].upper() + str(error)[1:]
        # The API would say so, too, but only after the whole form was sent.
        if rules["on_loss"] == "three" and self._nodes < 4:
            return "On_loss: only four nodes can lose one; this platform's clusters have three"
        if self._signed is not None and _but_evaluations(rules) != self._signed:
            return "All have signed these settings; only evaluations can be changed"
        return None

    @property
    def rules(self) -> dict[str, Any]:
        return rules_in(str(self.field.value or ""), self._problem, sealed=self._sealed)

    def is_about(self, refusal: str, /) -> bool:
        """Return whether a refusal begins with the name of one of these settings."""
        first = refusal.removeprefix("at ").split(" ", 1)[0].strip("'\":").rpartition(".")[2]
        names = setting_names(search_kind(self._problem, sealed=self._sealed))
        return first in (*RunSettings.__struct_fields__, *names)


def settings_table(problem: Problem, preset: str | None, /, *, sealed: bool) -> str:
    """List all settings with their usual values."""
    kind = search_kind(problem, sealed=sealed)
    usual = preset_named(preset) if preset and not sealed else None
    rows = [
        [name, MEANINGS[name], _shown(value)]
        for name, value in msgspec.structs.asdict(RunSettings()).items()
    ]
    hints = get_type_hints(kind)
    for name in setting_names(kind):
        choices = choices_of(name, hints[name])
        what = f"one of {', '.join(choices)}" if choices else "of the search"
        rows.append([name, what, "what fits" if usual is None else _shown(getattr(usual, name))])
    return table(["Setting", "Meaning", "Usually"], rows, "Advanced settings")


def choices_of(name: str, kind: object, /) -> list[str]:
    """Return the values of a setting that has only some."""
    named: Mapping[str, list[str]] = {
        "crossover": [*crossovers()],
        "mutation": [*mutations()],
        "estimator": ["linear", "exponential"],
    }
    choices = ["true", "false"] if kind is bool else [str(each) for each in get_args(kind)]
    return named.get(name, choices)


PLAN_FOR = {"everybody": "Everybody", "owners": "Each owner, its own rows"}
COMPARED = {"each": "Each by itself", "together": "All together, by how many plans beat each"}
PUBLIC = (
    "Public: everybody knows its weights, which are kept with the run. It decides where the search "
    "goes, too, so that more may be inferred of the others than is said below."
)
FITTING = "What fits the problem"


# Objectives together have an order and no values.
TOGETHER = {
    name: words._replace(k=words.k_together or words.k)
    for name, words in DISCLOSURES.items()
    if parse_disclosure(name if words.k is None else f"{name}:{words.k}").by_rank
}
BEST_OF_ALL = {name: choice for name, (choice, _) in BEST.items()}
# A sealed run has no plans on the way that could improve.
BEST_OF_SEALED = {name: text for name, text in BEST_OF_ALL.items() if name != "improvement"}


def method_and_k(disclosure: str, /) -> tuple[str, int | None]:
    """Split a disclosure into method and number.

    >>> method_and_k("top:5"), method_and_k("pareto:quantiles:20"), method_and_k("none")
    (('top', 5), ('quantiles', 20), ('none', None))
    """
    method, _, k = disclosure.removeprefix(f"{PARETO}:").partition(":")
    return method, int(k) if k.isdigit() else None


class ObjectiveRules:
    """The fields of one objective, or of all together."""

    def __init__(
        self, rule: ObjectiveRule, changed: Callable[[ObjectiveRules], None], /, *, together: bool
    ) -> None:
        """`changed` is called with this after each change, and not before all is made."""
        self._methods, self._together = TOGETHER if together else DISCLOSURES, together
        self._changed = changed
        method, k = method_and_k(rule.disclosure)
        if method not in self._methods:
            method, k = "quantiles" if together else next(iter(self._methods)), None
        offered = {key: each.choice for key, each in self._methods.items()}
        self.method = choice("An evaluation discloses", offered, method, self._method_changed)
        self.k = whole_number("k", k or self._methods[method].k or 1, 1, 1000)
        self.k.on_value_change(lambda: changed(self))
        self.k.bind_visibility_from(
            self.method, "value", backward=lambda value: self._methods[value].k is not None
        )
        # Together they have no best value of which anything could be told.
        self.best = None if together else self._best_field(rule.best)

    def _best_field(self, best: str) -> ui.select:
        known = best if best in self._best_choices else "nothing"
        return choice(
            "And of the best value", self._best_choices, known, lambda: self._changed(self)
        )

    @property
    def _best_choices(self) -> dict[str, str]:
        return BEST_OF_SEALED if self.is_sealed else BEST_OF_ALL

    @property
    def is_sealed(self) -> bool:
        return bool(self.method.value == SEALED)

    @property
    def rule(self) -> ObjectiveRule:
        method = str(self.method.value)
        k = "" if self._methods[method].k is None else f":{int(self.k.value or 0)}"
        prefix = f"{PARETO}:" if self._together else ""
        best = "nothing" if self.best is None else str(self.best.value)
        return ObjectiveRule(f"{prefix}{method}{k}", best)

    def _method_changed(self) -> None:
        method = self._methods[str(self.method.value)]
        self.k.value = method.k or 1
        if self.best is not None:
            best = self.best.value if method.compares else "nothing"
            self.best.set_options(self._best_choices, value=best)
        self._changed(self)


def why_not_together(problem: Problem, /) -> str:
    """Return why objectives cannot be compared together, or nothing."""
    if len(problem.objectives) < 2:
        return "A Pareto score compares two objectives or more; this problem has one."
    if not all(each.confidential for each in problem.objectives):
        return "A Pareto score is of confidential objectives; this problem has a public one."
    return ""


class RulesForm:
    """Fields that begin with given terms, and below them what they mean."""

    def __init__(
        self, problem: Problem, start: RunTerms, /, *, nodes: int = 3, named: str = "run"
    ) -> None:
        """`nodes` is how many the largest cluster has; `named` is what the name is of."""
        self._problem, self._start = problem, start
        self._is_ready = False
        self._told: Callable[[RunTerms], None] | None = None
        with ui.element("div").classes("fields"):
            self._name = name_field(f"Name of the {named}", start.name)
        self._objective_fields()
        self._run_fields()
        self._advanced = AdvancedBox(problem, start, nodes, self._refresh)
        self._disclosed = html().props('aria-live="polite"')
        self._inferred = html().props('aria-live="polite"')
        self._is_ready = True
        self._refresh()

    def _objective_fields(self) -> None:
        reason, several = why_not_together(self._problem), len(self._problem.objectives) > 1
        rules = [ObjectiveRule(each.disclosure, each.best) for each in self._start.objectives]
        is_together = rules[0].disclosure.startswith(f"{PARETO}:")
        if several:
            native("h3", "The objectives")
        with ui.element("div").classes("fields") as compared:
            value = "together" if is_together and not reason else "each"
            self._compared = choice("Objectives are compared", COMPARED, value, self._refresh)
        compared.set_visibility(several)
        if reason and several:
            self._compared.disable()
            native("p", reason).classes("hint")
        with ui.element("div").classes("fields") as together:
            together.bind_visibility_from(self._compared, "value", value="together")
            self._together = ObjectiveRules(rules[0], self._changed, together=True)
        self._each: dict[int, ObjectiveRules] = {}
        self._weights: dict[int, WeightFields] = {}
        for k, objective in enumerate(self._problem.objectives):
            if several:
                native("h3", f"{objective.name}, to {objective.sense}")
            if not objective.confidential:
                native("p", PUBLIC)
                continue
            with ui.element("div").classes("fields") as by_itself:
                by_itself.bind_visibility_from(self._compared, "value", value="each")
                self._each[k] = ObjectiveRules(rules[k], self._changed, together=False)
            with ui.element("div").classes("fields"):
                self._weights[k] = WeightFields(objective, self._start.objectives[k], self._refresh)

    def _run_fields(self) -> None:
        start = self._start
        if len(self._problem.objectives) > 1:
            native("h3", "The run")
        with ui.element("div").classes("fields"):
            self._plan = choice("Who learns the plan", PLAN_FOR, start.plan, self._refresh)
            self._deadline = number_field(
                "Deadline in seconds", start.deadline_seconds, 0.5, 604800
            )
            self._deadline.on_value_change(self._refresh)
            presets = {"": FITTING, **{name: name for name in PRESETS}}
            self._preset = choice(
                "Preset of the search", presets, start.preset or "", self._refresh
            )

    @property
    def _fields(self) -> list[Field]:
        rules = [self._together] if self._is_together else list(self._each.values())
        weights = [field for each in self._weights.values() for field in each.fields]
        return [
            self._name,
            *(each.k for each in rules),
            *weights,
            self._deadline,
            self._advanced.field,
        ]

    def leave_as_signed(self) -> None:
        """Disable what all have signed, in a run of a series."""
        fields: list[DisableableElement | None] = [self._compared, self._plan, self._preset]
        for rules in (self._together, *self._each.values()):
            fields += [rules.method, rules.k, rules.best]
        for weights in self._weights.values():
            fields += [weights.largest, weights.decimals]
        for field in filter(None, fields):
            field.disable()
        self._advanced.leave_as_signed()

    def wrong_field(self) -> Field | None:
        """Return the first wrong field, and make it visible."""
        field = first_wrong(self._fields)
        if field is self._advanced.field:
            self._advanced.open()
        return field

    def field_of(self, refusal: str, /) -> Field | None:
        """Return the field that a refusal is about, and make it visible."""
        if self._advanced.is_about(refusal):
            self._advanced.open()
            return self._advanced.field
        starts: dict[str, Field] = {
            "at name:": self._name,
            "at deadline_seconds:": self._deadline,
            "the deadline": self._deadline,
            "the number of evaluations": self._advanced.field,
        }
        return next((each for start, each in starts.items() if refusal.startswith(start)), None)

    def terms(self, *, name: str | None = None) -> RunTerms:
        """Return the terms as filled in. Raise an error while they are wrong."""
        sealed = self._is_sealed
        rules = {
            "reference": self._start.reference,
            **self._advanced.rules,
            "name": name or (self._name.value or "").strip(),
            "preset": None if sealed else str(self._preset.value or "") or None,
            "deadline_seconds": float(self._deadline.value or 0),
            "plan": str(self._plan.value) if sealed else "everybody",
            "objectives": [self._objective(k) for k in range(len(self._problem.objectives))],
        }
        return terms_about(self._problem, rules)

    def _objective(self, k: int) -> dict[str, Any]:
        rule = self._rule(k)
        weights = self._weights[k].weights if k in self._weights else None
        known = (
            {} if weights is None else dict(zip(("weight_bound", "scale"), weights, strict=True))
        )
        return {**rule._asdict(), **known}

    @property
    def _is_together(self) -> bool:
        return bool(self._compared.value == "together")

    @property
    def _is_sealed(self) -> bool:
        return not self._is_together and any(each.is_sealed for each in self._each.values())

    def _rule(self, objective: int) -> ObjectiveRule:
        if self._is_together:
            return self._together.rule
        each = self._each.get(objective)
        return usual_rule(self._problem) if each is None else each.rule

    def _changed(self, rules: ObjectiveRules) -> None:
        """A sealed search is one of all objectives."""
        # Setting a method below calls this again; it ends when all of them agree.
        if self._is_ready and rules in self._each.values():
            for other in self._each.values():
                if other.is_sealed != rules.is_sealed:
                    other.method.value = SEALED if rules.is_sealed else "top"
        self._refresh()

    def _refresh(self) -> None:
        # Fields report changes while the later ones do not exist yet.
        if not self._is_ready:
            return
        self._plan.set_visibility(self._is_sealed)
        self._preset.set_visibility(not self._is_sealed)
        self._advanced.show(sealed=self._is_sealed, preset=str(self._preset.value or "") or None)
        try:
            # Whatever the run will be called.
            terms = self.terms(name="draft")
        except TacitError:
            self._inferred.set_content("")
            return
        self._disclosed.set_content(sentences_list(to_be_disclosed(terms), classes="lead"))
        self._inferred.set_content(inferred_from(terms))
        if self._told is not None:
            self._told(terms)

    def tell(self, told: Callable[[RunTerms], None], /) -> None:
        """Call back with the terms as they are, and whenever they change."""
        self._told = told
        self._refresh()


def inferred_from(terms: RunTerms, /) -> str:
    markup = inferred_markup(inferred(terms))
    return f"<h3 class='spaced'>What could be inferred</h3>{markup}" if markup else ""
