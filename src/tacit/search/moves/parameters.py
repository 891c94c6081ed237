"""The settings of sealed searches, as an agreement pins them: public integers only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from tacit.errors import ParameterError
from tacit.problems import Problem

MOST_ITERATIONS = 1_000_000
MOST_GENERATIONS = 1000
MOST_SECONDS = 10_000_000
MOST_TOGETHER = 128
MOST_CHECKPOINTS = 16
MOST_GAP = 1000
SETTINGS = ("iterations", "checkpoints", "gap", "together")
"""What people may set; the rest follows from sizes and times when an agreement is drafted."""


@dataclass(frozen=True, kw_only=True)
class AssignmentParameters:
    """How long the nodes look for cheaper cycles, and what they open besides the plan.

    With `iterations` left at 0, as many are agreed on as the deadline allows, and at most 1.2 per
    place, or 12 more than places if that is more. After each of the iterations that `checkpoints`
    names, as in "48:64:96", it is opened whether all plans are proved; if they are, the run ends
    there.

    With a `gap` of 2 or more, each plan comes with a bound of what it lacks to the optimum, which
    is rounded up to 0, 1, or a power of that number. Of several weightings, that many are solved
    `together`, in the same messages; with 0, as many as fit messages of a few megabytes.

    >>> AssignmentParameters(checkpoints="48:64").checkpoint_iterations
    (48, 64)
    >>> AssignmentParameters(gap=1)
    Traceback (most recent call last):
    tacit.errors.ParameterError: gap is 1; give 2 to 1000, to whose powers it is rounded, or 0 for \
none
    """

    iterations: int = 0
    checkpoints: str = ""
    gap: int = 0
    together: int = 0
    generations: int = 0
    """Derived: generations of block descent before the iterations."""
    lag: int = 0
    """Derived: 1 where what follows a minimum runs beside the next one, over slow links."""
    least: int = 0
    """Derived: before so many iterations no plan is opened while `seconds` are left."""
    seconds: int = 0
    """Derived: the deadline, in whole seconds from the start; 0 for none."""

    def __post_init__(self) -> None:
        for name, most in (
            ("iterations", MOST_ITERATIONS),
            ("together", MOST_TOGETHER),
            ("generations", MOST_GENERATIONS),
            ("lag", 1),
            ("least", MOST_ITERATIONS),
            ("seconds", MOST_SECONDS),
        ):
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise ParameterError(f"{name} is {value}; give 0 to {most}")
        if self.gap and not 2 <= self.gap <= MOST_GAP:
            raise ParameterError(
                f"gap is {self.gap}; give 2 to {MOST_GAP}, to whose powers it is rounded, or 0 for "
                "none"
            )
        opened = self.checkpoint_iterations
        rises = all(before < after for before, after in pairwise((0, *opened)))
        if not rises or len(opened) > MOST_CHECKPOINTS:
            raise ParameterError(
                f"checkpoints is {self.checkpoints!r}; give 1 to {MOST_CHECKPOINTS} iterations in "
                "their order, as in 48:64:96, or none"
            )

    @property
    def checkpoint_iterations(self) -> tuple[int, ...]:
        """The iterations after which it is opened whether all is proved."""
        try:
            return tuple(int(each) for each in self.checkpoints.split(":") if self.checkpoints)
        except ValueError:
            return (0,)  # which is refused

    @property
    def steps(self) -> int:
        return self.generations + self.iterations

    @property
    def least_steps(self) -> int:
        """Before so many steps no plan is opened while there is time left.

        >>> AssignmentParameters(generations=20, iterations=90, least=30).least_steps
        50
        """
        return self.generations + self.least if self.least else 0


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


# The settings of a tour where none are given.
#
# They fit any lengths: the temperature ends at a ten-thousandth of the largest possible weight, and
# the last part of a run has no noise at all, so that lengths may be as small beside that one as
# they like (docs/search.md describes how they were found).


SYMMETRIC_MOVES, DIRECTED_MOVES = (45, 0), (10, 45)
"""Inversions and exchanges, in percent; the others are or-opt moves."""


def fitted_parameters(problem: Problem, /) -> TourParameters:
    """Return the settings for a problem of this kind.

    >>> from tacit.problems import shipped_problem
    >>> fitted_parameters(shipped_problem("kroA100")).windows
    2
    """
    # What an inversion turns around costs as much as before only where ways are not directed.
    moves = SYMMETRIC_MOVES if problem.is_symmetric else DIRECTED_MOVES
    return TourParameters(
        children=500,
        windows=2,
        swap_percent=moves[0],
        exchange_percent=moves[1],
        heat_start=800,
        heat_end=40,
        descent_percent=5,
        levels=2,
    )
