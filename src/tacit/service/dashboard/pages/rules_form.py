"""The rules of a run as a form: what is disclosed, until when, how much."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from nicegui import ui

from tacit.disclosure import SEALED, split_disclosure
from tacit.errors import TacitError
from tacit.problems import Problem
from tacit.service.dashboard.drafts import Rules, run_terms
from tacit.service.dashboard.frame import html, native
from tacit.service.dashboard.leakage import inferred, inferred_markup
from tacit.service.dashboard.words import best_words, disclosure_words


class Method(NamedTuple):
    """A disclosure in a few words, with a k to start from where it takes one."""

    text: str
    k: int | None = None
    compares_plans: bool = True
    """Whether the platform learns of plans which are better, so that it keeps a best."""


METHODS = {
    "top": Method("Which k are best", 15),
    "quantiles": Method("Which of k groups by rank", 5),
    "order": Method("The whole order"),
    "buckets": Method("Which of k ranges", 5),
    "above": Method("Which reach k % of the range", 90),
    "none": Method("Every exact value"),
    SEALED: Method("Nothing: a sealed search", compares_plans=False),
}
PLAN_FOR = {"everybody": "Everybody", "owners": "Each owner, its own rows"}
BEST = {"value": "The best value", "improvement": "Whether it improved", "nothing": "Nothing"}


class RulesForm:
    """Fields with sensible beginnings, and below them what the choice means."""

    def __init__(self, problem: Problem, /) -> None:
        self._problem = problem
        with ui.element("div").classes("fields"):
            self._name = ui.input("Name of the run", value=problem.name).props("outlined dense")
            self._method = ui.select(
                {key: method.text for key, method in METHODS.items()},
                value=split_disclosure(problem.usual_disclosure)[0],
                label="An evaluation discloses",
                on_change=self._method_changed,
            ).props("outlined dense")
            self._k = whole_number("k", 15, 1, 1000).on_value_change(self._say)
            self._k.bind_visibility_from(
                self._method, "value", backward=lambda value: METHODS[value].k is not None
            )
            self._best = ui.select(
                BEST, value="nothing", label="And of the best value", on_change=self._say
            ).props("outlined dense")
            self._plan = ui.select(
                PLAN_FOR, value="everybody", label="Who learns the plan", on_change=self._say
            ).props("outlined dense")
            self._plan.bind_visibility_from(
                self._method, "value", backward=lambda value: value == SEALED
            )
            self._deadline = ui.number(
                "Deadline in seconds", value=10, min=0.5, max=604800, step=0.5
            ).props("outlined dense")
            self._deadline.on_value_change(self._say)
            self._evaluations = whole_number(
                "Evaluations at most (0: as many as fit into the deadline)", 0, 0, 10_000_000
            ).on_value_change(self._say)
            self._expiry = whole_number("Signatures expire after hours", 48, 1, 8760)
        self._reveal = ui.checkbox("At the end, reveal which of the best-known plans is truly best")
        self._reveal.bind_visibility_from(
            self._method, "value", backward=lambda value: METHODS[value].compares_plans
        )
        self._said = native("p").classes("lead").props('aria-live="polite"')
        self._inferred = html().props('aria-live="polite"')
        self._say()

    def rules(self) -> Rules:
        """The rules as they are filled in; the API says what is wrong with them."""
        return Rules(
            name=(self._name.value or "").strip(),
            disclosure=self._disclosure(),
            best=str(self._best.value),
            deadline_seconds=float(self._deadline.value or 0),
            evaluations=int(self._evaluations.value or 0),
            expiry_hours=float(self._expiry.value or 0),
            reveal_best=bool(self._reveal.value),
            plan=str(self._plan.value),
        )

    def _disclosure(self) -> str:
        method = str(self._method.value)
        return method if METHODS[method].k is None else f"{method}:{int(self._k.value or 0)}"

    def _method_changed(self) -> None:
        method = METHODS[str(self._method.value)]
        self._k.value = method.k or 1
        if self._disclosure() != SEALED:
            self._plan.value = "everybody"
        if not method.compares_plans:
            self._best.value, self._reveal.value = "nothing", False
        self._say()

    def _say(self) -> None:
        best = str(self._best.value)
        more = "" if best == "nothing" else f", and {best_words(best)}"
        for_owners = str(self._plan.value) == "owners"
        shown = disclosure_words(self._disclosure(), for_owners=for_owners)
        self._said.set_text(f"The platform will learn {shown}{more}.")
        self._inferred.set_content(inferred_from(self._problem, self.rules()))


def inferred_from(problem: Problem, rules: Rules, /) -> str:
    """How much could be inferred under these rules, as markup; nothing while they are wrong."""
    try:
        # Whatever the run will be called.
        terms = run_terms(problem, replace(rules, name="draft"))
    except TacitError:
        return ""
    return inferred_markup(inferred(terms))


def whole_number(label: str, value: int, least: int, most: int, /) -> ui.number:
    """A field for a whole number."""
    return ui.number(label, value=value, min=least, max=most, precision=0, step=1).props(
        "outlined dense"
    )
