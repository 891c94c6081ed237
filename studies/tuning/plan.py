"""What a study file says about tuning: the trials, the space they search, the instances."""

from __future__ import annotations

from itertools import combinations, product

import msgspec

from studies.evaluation.instances import InstanceSpec
from studies.evaluation.settings import Settings, changed
from tacit.errors import ParameterError

Choice = int | str


class TuningPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The `[tuning]` table; the defaults are the paper's (section 4.5)."""

    trials: int = 300
    random_trials: int = 50
    """The number of random trials before the sampler learns from them."""
    runs: int = 3
    """Runs per instance; their median counts."""
    space: dict[str, tuple[Choice, ...]]
    instances: tuple[InstanceSpec, ...]

    def check(self, settings: Settings, /) -> None:
        """Reject a plan that does not fit a search with such settings."""
        self._check_space(settings)
        if min(self.trials, self.runs) < 1 or self.random_trials < 0:
            raise ParameterError("tuning needs at least one trial and one run; correct the counts")
        if not self.instances:
            raise ParameterError("tuning has no instances; add [[tuning.instances]]")

    def _check_space(self, settings: Settings) -> None:
        """Try all choices of any two settings, which are what may contradict each other.

        The other settings stay at their first choices, so that whatever is refused is a set that
        a trial may draw.
        """
        for name, choices in self.space.items():
            if not choices:
                raise ParameterError(f"the space gives {name} no choice; give at least one")
        first = {name: choices[0] for name, choices in self.space.items()}
        tried = (
            dict(zip(names, pair, strict=True))
            for count in (0, 1, 2)
            for names in combinations(self.space, count)
            for pair in product(*(self.space[name] for name in names))
        )
        for some in tried:
            try:
                changed(settings, first | some)
            except ParameterError as error:
                shown = " and ".join(f"{name} = {value!r}" for name, value in some.items())
                where = f"a set with {shown}" if some else "no valid first set"
                raise ParameterError(f"the space has {where}: {error}") from None
