"""Settings of the search as fields; what is left empty is what fits the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from nicegui import ui

from tacit.errors import TacitError
from tacit.problems import Problem
from tacit.runs import parse_weighting, setting_names
from tacit.search import PRESETS, SearchParameters, crossovers, mutations
from tacit.search.moves import AssignmentParameters, TourParameters
from tacit.service.dashboard.forms.number_fields import Field, optional_number, whole_number
from tacit.service.dashboard.frame import native
from tacit.service.dashboard.rules import SearchRules

USUAL = ""
"""The choice that leaves a setting as it is."""
LABELS = {
    "algorithm": "Algorithm",
    "population": "Plans per generation",
    "elites": "Best plans that are kept",
    "reevaluate_parents": "Parents are evaluated again",
    "tournament": "Size of a tournament",
    "crossover": "Crossover",
    "crossover_percent": "Crossover, in %",
    "mutation": "Mutation",
    "mutation_percent": "Mutation, in %",
    "estimator": "Estimator",
    "ties": "Ties are broken",
    "children": "Moves per window",
    "window_percent": "Window, in %",
    "windows": "Windows",
    "swap_percent": "Inversions among moves, in %",
    "exchange_percent": "Exchanges among moves, in %",
    "heat_start": "Heat at the start, in 1/10,000",
    "heat_end": "Heat at the end, in 1/10,000",
    "cycles": "Times that it cools",
    "descent_percent": "Descent at the end, in %",
    "levels": "Levels of comparison",
    "parents": "Parents",
    "meet_every": "Generations between meetings",
    "iterations": "Iterations",
    "checkpoints": "Checkpoints, such as 48:64:96",
    "gap": "Gap, up to powers of",
    "together": "Weightings at a time",
}
NONE_USUALLY = ("checkpoints", "gap")
"""Settings of a sealed assignment that disclose something, so that there is none unless named."""
LIKE_A_PRESET = (
    "Nodes take only searches that are like a preset, of 100 plans or more and with no fewer that "
    "are kept, unless their operators allow others."
)
Setting = ui.number | ui.select | ui.input
SettingsType = type[SearchParameters] | type[TourParameters] | type[AssignmentParameters]
MOST = 10_000_000


def label_of(name: str, /) -> str:
    """What a setting is called in the form; a new one by its own name.

    >>> label_of("elites"), label_of("new_setting")
    ('Best plans that are kept', 'New setting')
    """
    return LABELS.get(name, name.replace("_", " ").capitalize())


def choices_of(name: str, kind: object, /) -> list[Any] | None:
    """What a setting can be, where that is a list."""
    named = {
        "crossover": [*crossovers()],
        "mutation": [*mutations()],
        "estimator": ["linear", "exponential"],
    }
    if name in named:
        return named[name]
    if kind is bool:
        return [True, False]
    return list(get_args(kind)) or None


class SettingFields:
    """A field for each setting of a search; those that are filled in differ from the usual."""

    def __init__(
        self,
        settings: SettingsType,
        given: Mapping[str, Any],
        usual: object | None,
        changed: Callable[[], None],
        /,
    ) -> None:
        """`usual` has what empty fields mean, where that is known before the run is agreed on."""
        self._fields: dict[str, Setting] = {}
        hints = get_type_hints(settings)
        for name in setting_names(settings):
            at_first = given.get(name)
            text, label = _usual_text(usual, name), label_of(name)
            choices = choices_of(name, hints[name])
            if choices is not None:
                options = {USUAL: text.capitalize(), **{key: _shown(key) for key in choices}}
                chosen = USUAL if at_first is None else at_first
                field: Setting = ui.select(options, value=chosen, label=label)
            elif hints[name] is str:
                field = ui.input(label, value=at_first or USUAL).props(f'placeholder="{text}"')
                field.props("stack-label")
            else:
                field = optional_number(label, at_first, text, MOST)
            field.props("outlined dense")
            field.on_value_change(changed)
            self._fields[name] = field

    @property
    def fields(self) -> dict[str, Setting]:
        """The fields by the names of their settings."""
        return self._fields

    @property
    def parameters(self) -> dict[str, bool | int | str]:
        """What is filled in."""
        found: dict[str, bool | int | str] = {}
        for name, field in self._fields.items():
            if isinstance(field, ui.number):
                if field.value is not None:
                    found[name] = int(field.value)
            elif field.value not in (USUAL, None):
                found[name] = field.value
        return found


def _usual_text(usual: object | None, name: str) -> str:
    if usual is None:
        return "none" if name in NONE_USUALLY else "as fits"
    return f"as usual: {_shown(getattr(usual, name))}"


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class SearchFields:
    """Settings of the search of populations, and of the sealed search, of which one is in sight."""

    def __init__(
        self,
        problem: Problem,
        search: SearchRules,
        distinct_min: int,
        changed: Callable[[], None],
        /,
    ) -> None:
        self._problem, self._changed, self._is_sealed = problem, changed, False
        self._several = len(problem.objectives) > 1
        self.box = ui.element("details").classes("more-fields")
        with self.box:
            native("summary", "Search settings")
            with ui.element("div") as self._populations:
                self._population_fields(search, distinct_min)
            with ui.element("div") as self._sealed:
                self._sealed_fields(search)
        if search != SearchRules() or distinct_min > 1:
            self.open()

    def _population_fields(self, search: SearchRules, distinct_min: int) -> None:
        presets = {USUAL: "The one that fits the problem", **{name: name for name in PRESETS}}
        with ui.element("div").classes("fields"):
            self._preset = ui.select(
                presets, value=search.preset or USUAL, label="Preset", on_change=self._preset_chosen
            ).props("outlined dense")
            self._distinct = whole_number(
                "Different plans per evaluation, at least", distinct_min, 1, 100_000
            )
        self._of_populations = self._settings(SearchParameters, search.parameters)
        native("p", LIKE_A_PRESET).classes("hint")

    def _sealed_fields(self, search: SearchRules) -> None:
        with ui.element("div").classes("fields") as weightings:
            self._weightings = ui.input(
                "Weightings, such as 3:1, 1:1",
                value=", ".join(search.weightings),
                validation=self._wrong_weightings,
            ).props("outlined dense")
            self._weightings.on_value_change(self._changed)
        weightings.set_visibility(self._several)
        is_tour = self._problem.sealed_moves == "tour"
        kind: SettingsType = TourParameters if is_tour else AssignmentParameters
        self._of_sealed = self._settings(kind, search.parameters)

    def _settings(self, settings: SettingsType, given: Mapping[str, Any]) -> SettingFields:
        with ui.element("div").classes("fields"):
            return SettingFields(settings, given, self._usual(settings), self._changed)

    def _usual(self, settings: SettingsType) -> object | None:
        """What empty fields mean; a sealed search is fitted to its time by the platform."""
        if settings is not SearchParameters or not self._preset.value:
            return None
        return PRESETS[str(self._preset.value)]

    def _preset_chosen(self) -> None:
        preset = PRESETS.get(str(self._preset.value))
        for name, field in self._of_populations.fields.items():
            text = _usual_text(preset, name)
            if not isinstance(field, ui.select):
                field.props(f'placeholder="{text}"')
            else:
                options = dict(field.options)
                field.set_options({**options, USUAL: text.capitalize()})
        self._changed()

    def show(self, *, sealed: bool) -> None:
        """Have the settings in sight that fit what is disclosed."""
        self._is_sealed = sealed
        self._populations.set_visibility(not sealed)
        self._sealed.set_visibility(sealed)

    def open(self) -> None:
        """Show the settings, which are behind a line at first."""
        self.box.props("open")

    @property
    def in_sight(self) -> SettingFields:
        """The settings that count."""
        return self._of_sealed if self._is_sealed else self._of_populations

    @property
    def fields(self) -> list[Field]:
        """All fields that count."""
        more: list[Field] = [self._weightings] if self._is_sealed else [self._distinct]
        return [*more, *self.in_sight.fields.values()]

    def field_of(self, message: str, /) -> Field | None:
        """The field that a refusal is about: it begins with the name of a setting."""
        first = message.split(" ", 1)[0].strip("'\"")
        return self.in_sight.fields.get(first)

    @property
    def search(self) -> SearchRules:
        """As it is filled in."""
        parameters = self.in_sight.parameters
        if not self._is_sealed:
            return SearchRules(str(self._preset.value) or None, parameters)
        return SearchRules(None, parameters, tuple(self._weighting_texts()))

    @property
    def distinct_min(self) -> int:
        """How many plans of an evaluation differ at least; a sealed search has none."""
        return 1 if self._is_sealed else int(self._distinct.value or 1)

    def _weighting_texts(self) -> list[str]:
        if not self._several:
            return []
        texts = str(self._weightings.value or "").replace(";", ",").split(",")
        return [text.strip() for text in texts if text.strip()]

    def _wrong_weightings(self, _typed: object) -> str | None:
        count = len(self._problem.objectives)
        for text in self._weighting_texts():
            try:
                factors = parse_weighting(text)
            except TacitError:
                return f"{text} is no weighting; write whole numbers with colons, such as 3:1"
            if len(factors) != count:
                return f"{text}: give {count} numbers, one per objective"
        return None
