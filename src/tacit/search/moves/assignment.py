"""The settings of a sealed assignment, as an agreement pins them: all of it is public."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from tacit.errors import ParameterError

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

    >>> AssignmentParameters(checkpoints="48:64").told_after
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
        told = self.told_after
        rises = all(before < after for before, after in pairwise((0, *told)))
        if not rises or len(told) > MOST_CHECKPOINTS:
            raise ParameterError(
                f"checkpoints is {self.checkpoints!r}; give 1 to {MOST_CHECKPOINTS} iterations in "
                "their order, as in 48:64:96, or none"
            )

    @property
    def told_after(self) -> tuple[int, ...]:
        """The iterations after which it is opened whether all is proved."""
        try:
            return tuple(int(each) for each in self.checkpoints.split(":") if self.checkpoints)
        except ValueError:
            return (0,)  # which is refused

    @property
    def steps(self) -> int:
        """Generations and iterations together."""
        return self.generations + self.iterations

    @property
    def least_steps(self) -> int:
        """Before so many steps no plan is opened while there is time left.

        >>> AssignmentParameters(generations=20, iterations=90, least=30).least_steps
        50
        """
        return self.generations + self.least if self.least else 0
