"""A run of a study, described so that any process on any machine can compute it."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

import tacit
from studies.execution.time_budget import TimeBudget
from studies.study.instances import InstanceSpec, named_problem
from studies.study.settings import Settings

ROWS_FORMAT = 1
"""Counts up when the meaning of a stored run changes, so that old ones are computed anew."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A run: its result is a function of these fields and of the version of tacit."""

    instance: InstanceSpec
    settings: tuple[tuple[str, Any], ...] = ()
    """Every setting of the search, by name."""
    disclosure: str
    obfuscate: tuple[str, ...] | None = None
    generations: int
    seed: int = 0
    plugins: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the stored run is called: a hash of everything its rows depend on."""
        spec = self.instance
        if spec.digest is not None:
            # The content counts, not where it lies.
            spec = msgspec.structs.replace(spec, file=None)
        described = msgspec.json.encode(
            [ROWS_FORMAT, tacit.__version__, msgspec.structs.replace(self, instance=spec)],
            order="deterministic",
        )
        return hashlib.sha256(described).hexdigest()[:32]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What is disclosed, of which objectives, and for how long runs go on."""

    disclosure: str = "none"
    obfuscate: tuple[str, ...] | None = None
    generations: int = 500
    budget: TimeBudget | None = None
    plugins: tuple[str, ...] = ()

    def generations_of(self, instance: InstanceSpec, settings: Settings, /) -> int:
        """The last generation of a run: what the budget leaves, and no more than asked for."""
        if self.budget is None:
            return self.generations
        fitting = self.budget.generations(self.disclosure, named_problem(instance), settings)
        return min(self.generations, fitting)

    def job(self, instance: InstanceSpec, settings: Settings, /, *, seed: int) -> Job:
        """A run under these conditions."""
        return Job(
            instance=instance,
            settings=tuple(sorted(msgspec.to_builtins(settings).items())),
            disclosure=self.disclosure,
            obfuscate=self.obfuscate,
            generations=self.generations_of(instance, settings),
            seed=seed,
            plugins=self.plugins,
        )
