"""The objective of tuning: the median over runs per instance, the mean over instances."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tacit.experiments.execution.run_job import perform
from tacit.experiments.study.conditions import Conditions
from tacit.experiments.study.instances import InstanceSpec, named_problem
from tacit.experiments.study.plugins import load_plugins
from tacit.experiments.study.settings import Settings

SINGLE_METRICS = ("relative_error",)
MULTIPLE_METRICS = ("gd_plus_normalized", "igd_plus_normalized")


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """How parameter sets are assessed; the smaller the values, the better."""

    instances: tuple[InstanceSpec, ...]
    runs: int = 3
    conditions: Conditions = Conditions()

    @property
    def metrics(self) -> tuple[str, ...]:
        """One metric for one objective, two for several."""
        several = len(named_problem(self.instances[0]).objectives) > 1
        return MULTIPLE_METRICS if several else SINGLE_METRICS

    def values(self, settings: Settings, /) -> tuple[float, ...]:
        """Assess a parameter set, one value per metric."""
        medians = [self._medians(instance, settings) for instance in self.instances]
        return tuple(float(value) for value in np.mean(medians, axis=0))

    def _medians(self, instance: InstanceSpec, settings: Settings) -> Sequence[float]:
        last = []
        for seed in range(self.runs):
            metrics = perform(self.conditions.job(instance, settings, seed=seed)).metrics
            last.append([metrics[name][-1] for name in self.metrics])
        medians: list[float] = np.median(last, axis=0).tolist()
        return medians


def assessed(assessment: Assessment, settings: Settings, /) -> tuple[float, ...]:
    """Assess a parameter set in a process that may not have loaded the plugins yet."""
    load_plugins(assessment.conditions.plugins)
    return assessment.values(settings)
