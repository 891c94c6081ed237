"""Read the box of advanced settings: one line of `name=value` per setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct
from nicegui import ui

from tacit.client import RunTerms, converted
from tacit.errors import ParameterError, TacitError
from tacit.plain_text import nearest_word
from tacit.problems import Problem
from tacit.runs import changed, parse_changes, parse_weighting, setting_names
from tacit.search import SearchParameters, crossovers, mutations, preset_named
from tacit.search.moves import AssignmentParameters, TourParameters
from tacit.service.dashboard.frame import html, native, table

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
    weightings: str = ""


MEANINGS = {
    "evaluations": "evaluations at most, or steps of a sealed run; 0: as many as fit the deadline",
    "expiry_hours": "hours after which signatures expire",
    "distinct_min": "different plans of an evaluation, at least",
    "reveal_best": "at the end, reveal which of the best-known plans is truly best",
    "front": "of objectives together, what is revealed at the end of the plans that none beats",
    "on_loss": "if one of four nodes is lost: wait for it, or go on with three, unchecked",
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
        self._sealed = sealed
        self._known.set_content(settings_table(self._problem, preset, sealed=sealed))
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
