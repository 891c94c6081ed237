"""The settings of a sealed search, as an agreement pins them: integers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tacit.errors import ParameterError
from tacit.search.moves.exact import MOST_PHASES, ExactParameters, check_gap

HEAT_UNIT = 10_000
"""Temperatures are given in units of the largest weight divided by this."""
MOST_CHILDREN = 10_000
MOST_BLOCK = 20
MOST_LEVELS = 3
MOST_WINDOWS = 8
MOST_PARENTS = 16
ONE_PARENT_IMPROVES = (
    "improvements can be disclosed for a search with one parent only; set parents to 1, or "
    "disclose the best value or nothing"
)
"""Improvements and several parents exclude each other: each parent has its own best."""
NO_IMPROVEMENTS_WITH_FINISH = (
    "a search with a finish tells nothing of improvements; set finish to 0, or disclose the best "
    "value or nothing"
)
"""What was told of the search would say how the plan that is proved came about."""


@dataclass(frozen=True, kw_only=True)
class SealedParameters:
    """How a sealed search moves and cools.

    `block` positions of an assignment form a block, whose children are all its swaps and 3-cycles;
    blocks are disjoint, so each of them makes its own step in every generation. With 0 there
    is one block of all positions and `children` moves are drawn, as there always are for a tour.
    The temperature falls from `heat_start` to `heat_end`, in ten-thousandths of the largest
    weight, `cycles` times over a run. The last `descent_percent` of it have no noise: whatever the
    weights are, small as they may be beside the largest possible one, the run ends by descending.

    A block's winner is found in so many `levels`: with one, all pairs of its children are compared
    in the fewest rounds; with more, far fewer pairs.

    Each of several `parents` evolves independently. Every `meet_every` generations the parents are
    paired, and both of a pair continue from the better one.

    With a `finish`, so many phases of the exact solver follow the search at most. They begin with
    its plan, and where they come to their end, the plan is proved to be the optimum.

    Where few pairs are allowed, nearly all moves lead to forbidden ones. The `start`, which is an
    order of the items that is drawn and that nobody knows, may then be a plan that is grown.

    >>> SealedParameters(block=6).block
    6
    >>> SealedParameters(heat_start=10, heat_end=20)
    Traceback (most recent call last):
    tacit.errors.ParameterError: the temperature rises from 10 to 20; let it fall
    """

    block: int = 0
    children: int = 299
    window_percent: int = 100
    """Tours: the share of consecutive positions that may change in a generation."""
    windows: int = 1
    """Tours: with several, that many blocks of as many children each share the tour evenly."""
    swap_percent: int = 50
    """Percentage of swaps, not 3-cycles, among drawn moves; tours: of inversions, not or-opt."""
    exchange_percent: int = 0
    """Tours: percentage of moves that exchange two segments of any length, side by side."""
    heat_start: int = 300
    heat_end: int = 30
    cycles: int = 1
    descent_percent: int = 0
    levels: int = 1
    parents: int = 1
    meet_every: int = 20
    """0 for no parent selection."""
    finish: int = 0
    """Phases of the exact solver after the search; assignments only."""
    gap: int = 0
    """With a finish: as `ExactParameters` has it."""
    start: Literal["drawn", "grown"] = "drawn"
    """Whether the first plan is drawn, or grown on allowed pairs; assignments only."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("block", 0, MOST_BLOCK),
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
            ("finish", 0, MOST_PHASES),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ParameterError(f"{name} is {value}; give {low} to {high}")
        check_gap(self.gap)
        if self.start not in ("drawn", "grown"):
            raise ParameterError(f"start is {self.start!r}; it is drawn or grown")
        if self.block == 1:
            raise ParameterError("a block of one position has no moves; give 2 or more, or 0")
        if self.swap_percent + self.exchange_percent > 100:
            raise ParameterError(
                f"swap_percent and exchange_percent are {self.swap_percent} and "
                f"{self.exchange_percent}; give no more than 100 together"
            )
        if self.heat_end > self.heat_start:
            raise ParameterError(
                f"the temperature rises from {self.heat_start} to {self.heat_end}; let it fall"
            )


def named_settings(parameters: SealedParameters | ExactParameters, /) -> dict[str, int | str]:
    """The settings by name; a finish, a start, and what may be told, only where there is any.

    So what is agreed without them looks as it did before there were such.

    >>> "finish" in named_settings(SealedParameters())
    False
    """
    return {name: value for name, value in vars(parameters).items() if (name, value) not in _NONE}


_NONE = (
    ("finish", 0), ("checkpoints", ""), ("gap", 0), ("bisect", False), ("start", "drawn"),
    ("exchange_percent", 0),
)  # fmt: skip
SEALED_PRESETS = {"sealed-ap": "assignment", "sealed-tsp": "tour"}
"""Presets of sealed searches, by the moves whose settings they are."""


def sealed_parameters_for(moves: str | None, /) -> SealedParameters:
    """The settings of the presets, tuned on independent weights and cities on a map.

    What a search takes where nothing is said is `fitted_parameters`.

    >>> sealed_parameters_for("assignment").block
    7
    """
    if moves == "tour":
        return SealedParameters(
            children=299, window_percent=66, swap_percent=40, heat_start=800, heat_end=25
        )
    return SealedParameters(block=7, heat_start=280, heat_end=50)
