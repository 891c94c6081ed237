"""What is disclosed of one objective, as fields that begin with what the problem's file says."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nicegui import ui

from tacit.disclosure import PARETO, SEALED
from tacit.service.dashboard.forms.number_fields import whole_number
from tacit.service.dashboard.rules import ObjectiveRule


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
    SEALED: Method("Nothing: a sealed run", compares_plans=False),
}
TOGETHER = {
    "quantiles": Method("Which of k groups by rank", 20),
    "top": Method("Which k are best", 60),
    "order": Method("The whole order"),
}
"""Methods that need an order only, which is all that objectives together have."""
BEST = {"value": "The best value", "improvement": "Whether it improved", "nothing": "Nothing"}
BEST_OF_SEALED = {name: text for name, text in BEST.items() if name != "improvement"}
"""A sealed run has no plans on the way that could improve."""


def method_and_k(disclosure: str, /) -> tuple[str, int | None]:
    """What a disclosure is made of.

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
        self._methods, self._together = TOGETHER if together else METHODS, together
        self._changed = changed
        method, k = method_and_k(rule.disclosure)
        if method not in self._methods:
            method, k = next(iter(self._methods)), None
        self.method = ui.select(
            {key: each.text for key, each in self._methods.items()},
            value=method,
            label="An evaluation discloses",
            on_change=self._method_changed,
        ).props("outlined dense")
        self.k = whole_number("k", k or self._methods[method].k or 1, 1, 1000)
        self.k.on_value_change(lambda: changed(self))
        self.k.bind_visibility_from(
            self.method, "value", backward=lambda value: self._methods[value].k is not None
        )
        # Together they have no best value of which anything could be told.
        self.best = None if together else self._best_field(rule.best)

    def _best_field(self, best: str) -> ui.select:
        choices = self._best_choices
        return ui.select(
            choices,
            value=best if best in choices else "nothing",
            label="And of the best value",
            on_change=lambda: self._changed(self),
        ).props("outlined dense")

    @property
    def _best_choices(self) -> dict[str, str]:
        return BEST_OF_SEALED if self.is_sealed else BEST

    @property
    def is_sealed(self) -> bool:
        """Whether nothing is evaluated."""
        return bool(self.method.value == SEALED)

    @property
    def rule(self) -> ObjectiveRule:
        """As it is filled in."""
        method = str(self.method.value)
        k = "" if self._methods[method].k is None else f":{int(self.k.value or 0)}"
        prefix = f"{PARETO}:" if self._together else ""
        best = "nothing" if self.best is None else str(self.best.value)
        return ObjectiveRule(f"{prefix}{method}{k}", best)

    def _method_changed(self) -> None:
        method = self._methods[str(self.method.value)]
        self.k.value = method.k or 1
        if self.best is not None:
            best = self.best.value if method.compares_plans else "nothing"
            self.best.set_options(self._best_choices, value=best)
        self._changed(self)
