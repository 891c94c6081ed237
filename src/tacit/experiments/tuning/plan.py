"""What a study file says about tuning: the trials, the space they search, the instances."""

from __future__ import annotations

import msgspec

from tacit.errors import ParameterError
from tacit.experiments.instances import InstanceSpec
from tacit.search import SearchParameters
from tacit.search.parameters import parameter_names

Choice = int | str


class TuningPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The `[tuning]` table; the defaults are the paper's (section 4.5).

    >>> TuningPlan(instances=(), space={"tournament": (2, 4)}).trials
    300
    """

    trials: int = 300
    random_trials: int = 50
    """So many are drawn at random before the sampler learns from them."""
    runs: int = 3
    """Per instance; their median counts."""
    space: dict[str, tuple[Choice, ...]]
    instances: tuple[InstanceSpec, ...]

    def check(self) -> None:
        """Refuse a plan that cannot be carried out.

        >>> TuningPlan(instances=(), space={"luck": (1,)}).check()
        Traceback (most recent call last):
        tacit.errors.ParameterError: the space names 'luck', which is no setting of a search
        """
        for name, choices in self.space.items():
            if name not in parameter_names():
                raise ParameterError(f"the space names {name!r}, which is no setting of a search")
            if not choices:
                raise ParameterError(f"the space gives {name} no choice; give at least one")
            for choice in choices:
                SearchParameters().with_changes(**{name: choice})
        if min(self.trials, self.runs) < 1 or self.random_trials < 0:
            raise ParameterError("tuning needs at least one trial and one run; correct the counts")
        if not self.instances:
            raise ParameterError("tuning has no instances; add [[tuning.instances]]")
