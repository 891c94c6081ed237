"""The settings of a sealed search of a tour, as an agreement pins them: integers only."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import ParameterError
from tacit.search.moves.assignment import AssignmentParameters

HEAT_UNIT = 10_000
"""Temperatures are given in units of the largest weight divided by this."""
MOST_CHILDREN = 10_000
MOST_LEVELS = 3
MOST_WINDOWS = 8
MOST_PARENTS = 16


@dataclass(frozen=True, kw_only=True)
class TourParameters:
    """How a sealed search of a tour moves and cools.

    In every generation `children` moves are drawn. The temperature falls from `heat_start` to
    `heat_end`, in ten-thousandths of the largest weight, `cycles` times over a run. The last
    `descent_percent` of it have no noise: whatever the weights are, small as they may be beside the
    largest possible one, the run ends by descending.

    The winner is found in so many `levels`: with one, all pairs of children are compared in the
    fewest rounds; with more, far fewer pairs.

    Each of several `parents` evolves independently. Every `meet_every` generations the parents are
    paired, and both of a pair continue from the better one.

    >>> TourParameters(heat_start=10, heat_end=20)
    Traceback (most recent call last):
    tacit.errors.ParameterError: the temperature rises from 10 to 20; let it fall
    """

    children: int = 299
    window_percent: int = 100
    """The share of consecutive positions that may change in a generation."""
    windows: int = 1
    """With several, that many blocks of as many children each share the tour evenly."""
    swap_percent: int = 50
    """Percentage of inversions; the rest but for exchanges are or-opt moves."""
    exchange_percent: int = 0
    """Percentage of moves that exchange two segments of any length, side by side."""
    heat_start: int = 300
    heat_end: int = 30
    cycles: int = 1
    descent_percent: int = 0
    levels: int = 1
    parents: int = 1
    meet_every: int = 20
    """0 for no parent selection."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("children", 1, MOST_CHILDREN - 1),
            ("window_percent", 1, 100),
            ("windows", 1, MOST_WINDOWS),
            ("swap_percent", 0, 100),
            ("exchange_percent", 0, 100),
            ("heat_start", 1, HEAT_UNIT),
            ("heat_end", 1, HEAT_UNIT),
            ("cycles", 1, 100),
            ("descent_percent", 0, 100),
            ("levels", 1, MOST_LEVELS),
            ("parents", 1, MOST_PARENTS),
            ("meet_every", 0, 1_000_000),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ParameterError(f"{name} is {value}; give {low} to {high}")
        if self.swap_percent + self.exchange_percent > 100:
            raise ParameterError(
                f"swap_percent and exchange_percent are {self.swap_percent} and "
                f"{self.exchange_percent}; give no more than 100 together"
            )
        if self.heat_end > self.heat_start:
            raise ParameterError(
                f"the temperature rises from {self.heat_start} to {self.heat_end}; let it fall"
            )


SealedParameters = TourParameters | AssignmentParameters
"""The settings of a sealed run, of either kind."""


def named_settings(parameters: SealedParameters, /) -> dict[str, int | str]:
    """Return the settings by name.

    >>> named_settings(AssignmentParameters(iterations=9))["iterations"]
    9
    """
    return dict(vars(parameters))


SEALED_PRESETS = {"sealed-tsp": "tour"}
"""Presets of sealed searches, by the moves whose settings they are."""


def sealed_parameters_for(moves: str | None, /) -> TourParameters:
    """Return the settings of the preset, tuned on cities on a map.

    What a search takes where nothing is said is `fitted_parameters`.

    >>> sealed_parameters_for("tour").children
    299
    """
    if moves != "tour":
        raise ParameterError("presets of sealed runs are for tours; leave the preset out")
    return TourParameters(
        children=299, window_percent=66, swap_percent=40, heat_start=800, heat_end=25
    )
