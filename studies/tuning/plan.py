"""The `[tuning]` table of a study file, and Optuna: storage of trials, sampling of sets."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from studies.evaluation.instances import InstanceSpec
from studies.evaluation.run import Settings, changed
from tacit.errors import ParameterError, TacitError

if TYPE_CHECKING:
    import optuna


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


REDRAWS = 10
"""After this many repeated sets a random one is drawn."""


def optuna_library() -> Any:  # noqa: ANN401 - a module
    """Import Optuna, quietly, or say how to get it."""
    try:
        import optuna
    except ImportError:
        raise TacitError(
            "tuning needs Optuna; run pip install -e '.[studies]' in the clone"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_storage(place: str, /) -> optuna.storages.BaseStorage:
    """Trials that several processes or machines share.

    A database by its address (`postgresql://...`, `sqlite:///...`), or a journal file by its path,
    which works on shared file systems too.
    """
    library = optuna_library()
    if "://" in place:
        database: optuna.storages.BaseStorage = library.storages.RDBStorage(place)
        return database
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    backend = library.storages.journal.JournalFileBackend(place)
    journal: optuna.storages.BaseStorage = library.storages.JournalStorage(backend)
    return journal


def open_trials(
    place: str, name: str, /, *, metrics: int, random_trials: int, seed: int
) -> optuna.Study:
    """The trials of a name, new or continued, with the paper's sampler.

    The first `random_trials` are drawn at random, the others by a multivariate tree-structured
    Parzen estimator.
    """
    library = optuna_library()
    trials: optuna.Study = library.create_study(
        storage=open_storage(place),
        study_name=name,
        directions=["minimize"] * metrics,
        load_if_exists=True,
    )
    # A continued study must not draw the first sets again.
    begun = len(trials.get_trials(deepcopy=False))
    with warnings.catch_warnings():
        # Optuna calls the multivariate estimator experimental.
        warnings.simplefilter("ignore")
        trials.sampler = library.samplers.TPESampler(
            n_startup_trials=random_trials, multivariate=True, seed=seed + 7919 * begun
        )
    return trials


def ask_new_set(
    trials: optuna.Study,
    space: Mapping[str, Sequence[Choice]],
    drawn: Sequence[Mapping[str, Choice]],
    /,
    *,
    seed: int,
) -> optuna.Trial:
    """The next trial, with a set that was not drawn before.

    A set has the same values whenever it is assessed, since runs have fixed seeds. An estimator
    that sees them repeatedly narrows to its favourite until it draws little else, so a repetition
    is not reported to it, and after a few of them a random new set is drawn.
    """
    for _ in range(REDRAWS):
        trial = trials.ask()
        if suggested(trial, space) not in drawn:
            return trial
        mark_failed(trials, trial)
    random = Random(f"{seed} {len(drawn)}")
    while True:
        settings = {name: random.choice(list(choices)) for name, choices in space.items()}
        if settings not in drawn:
            trials.enqueue_trial(settings)
            trial = trials.ask()
            suggested(trial, space)
            return trial


def suggested(trial: optuna.Trial, space: Mapping[str, Sequence[Choice]], /) -> dict[str, Choice]:
    """Draw a parameter set: evenly spaced numbers as numbers, anything else as categories."""
    chosen: dict[str, Choice] = {}
    for name, choices in space.items():
        step = even_step(choices)
        if step is not None:
            first, last = int(choices[0]), int(choices[-1])
            chosen[name] = trial.suggest_int(name, first, last, step=step)
        else:
            drawn = trial.suggest_categorical(name, list(choices))
            chosen[name] = choices[list(choices).index(drawn)]  # type: ignore[arg-type]
    return chosen


def even_step(choices: Sequence[Choice], /) -> int | None:
    """The step of evenly spaced numbers, or None.

    >>> even_step((2, 4, 6)), even_step((1, 2, 4)), even_step(("swap",))
    (2, None, None)
    """
    if len(choices) < 2 or not all(isinstance(choice, int) for choice in choices):
        return None
    steps = {int(b) - int(a) for a, b in pairwise(choices)}
    return steps.pop() if len(steps) == 1 and min(steps) > 0 else None


def completed(trials: optuna.Study, /) -> list[optuna.trial.FrozenTrial]:
    """The finished trials, in the order of their numbers."""
    state = optuna_library().trial.TrialState.COMPLETE
    return list(trials.get_trials(deepcopy=False, states=(state,)))


def mark_failed(trials: optuna.Study, trial: optuna.Trial, /) -> None:
    """Mark a trial as failed, so that the storage does not wait for it."""
    trials.tell(trial, state=optuna_library().trial.TrialState.FAIL)
