"""Ask and tell with Optuna. Needs Optuna. Run: python optuna_asks_and_tells.py."""

import numpy as np
import optuna

from tacit.problems import generate_assignment
from tacit.runs import open_evaluations

SETS, SIZE = 12, 10
problem = generate_assignment(3, rows=6)
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))


def keys(trial: optuna.Trial) -> list[float]:
    """Random keys: a plan is the order that they sort into."""
    return [trial.suggest_float(f"key {i}", 0.0, 1.0) for i in range(problem.genome_length)]


# Optuna compares trials of different sets, so the best value of each set is disclosed, too.
with open_evaluations(problem, disclose="top:3", best="value", sets=SETS, largest=SIZE) as asking:
    for _ in range(SETS):
        trials = [study.ask() for _ in range(SIZE)]
        genomes = np.argsort([keys(trial) for trial in trials], axis=1).astype(np.int32)
        told = asking.evaluate(problem.plans(genomes))
        for trial, estimate in zip(trials, told.estimates[:, 0], strict=True):
            study.tell(trial, float(estimate))

print(f"after {asking.asked} sets of {SIZE}: the best disclosed value is {study.best_value:g}")
