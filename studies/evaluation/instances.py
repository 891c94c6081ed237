"""The problems of a study: generated from fixed seeds, shipped, from files, or from code.

Code of one's own also registers operators and disclosures. Only study files name modules; problem
files and agreements, which may come from others, cannot.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import (
    Assignment,
    Problem,
    StudyKind,
    generate_named,
    ground_truth,
    load_problem,
    optimum,
    shipped_problem,
)


class InstanceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a problem comes from: exactly one of `generate`, `shipped`, `file` and `make`.

    >>> named_problem(InstanceSpec(generate="assignment", seed=1000, numbers=(2,))).name
    'ap1K100x100-02'
    """

    generate: StudyKind | None = None
    objectives: int = 1
    size: int = 100
    columns: int | None = None
    """Where there are not as many as rows, or as the kind says."""
    seed: int = 0
    numbers: tuple[int, ...] = (1,)
    """Members of a series; member i is drawn from `seed` + i."""
    shipped: str | None = None
    file: str | None = None
    digest: str | None = None
    """Hash of the file, so that a changed file is another instance."""
    make: str | None = None
    """`module.function` that returns a Problem, for problems of one's own."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A problem and what its plans are measured against, where that is known."""

    problem: Problem
    optimum: int | None
    """In the user's sense, scaled."""
    truth: NDArray[np.float64] | None
    """Internal fitness of the ground truth, one row per plan."""


def expanded(specs: Sequence[InstanceSpec], folder: Path, /) -> tuple[InstanceSpec, ...]:
    """One entry per problem, files by their full path and hash.

    >>> series = InstanceSpec(generate="tour", seed=7, numbers=(1, 2))
    >>> [spec.numbers for spec in expanded([series], Path())]
    [(1,), (2,)]
    """
    single = []
    for spec in specs:
        _check(spec)
        if spec.file is not None and spec.digest is None:
            path = (folder / spec.file).resolve()
            if not path.is_file():
                raise ParameterError(f"the instance {spec.file} is not there; check its path")
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            spec = msgspec.structs.replace(spec, file=str(path), digest=digest)
        single += [msgspec.structs.replace(spec, numbers=(number,)) for number in spec.numbers]
    return tuple(single)


def _check(spec: InstanceSpec) -> None:
    given = [name for name in ("generate", "shipped", "file", "make") if getattr(spec, name)]
    if len(given) != 1:
        raise ParameterError(
            f"an instance names {' and '.join(given) or 'no source'}; "
            "give one of generate, shipped, file or make"
        )
    if spec.size < 2 or spec.objectives < 1 or spec.seed < 0 or min(spec.numbers, default=0) < 1:
        raise ParameterError(
            "an instance needs a size of at least 2, an objective, a seed of 0 or more and "
            "numbers from 1; correct it"
        )
    if spec.numbers != (1,) and spec.generate is None:
        raise ParameterError("numbers count the members of a generated series; leave them out")


@lru_cache(maxsize=64)
def named_problem(spec: InstanceSpec, /) -> Problem:
    """Build the problem of an expanded entry."""
    if spec.shipped is not None:
        return shipped_problem(spec.shipped)
    if spec.file is not None:
        return load_problem(spec.file)
    if spec.make is not None:
        made = object_named(spec.make)()
        if not isinstance(made, Problem):
            raise ParameterError(f"{spec.make}() gives no Problem; return a subclass of it")
        return made
    (number,) = spec.numbers
    return generate_named(
        str(spec.generate),
        spec.seed + number,
        rows=spec.size,
        columns=spec.columns,
        objectives=spec.objectives,
        number=number,
    )


@lru_cache(maxsize=64)
def reference_of(spec: InstanceSpec, /) -> Reference:
    """The problem with its optimum, or its ground truth where it has several objectives."""
    problem = named_problem(spec)
    if len(problem.objectives) == 1:
        found = optimum(problem)
        return Reference(problem, None if found is None else found.value, None)
    if not isinstance(problem, Assignment):
        return Reference(problem, None, None)
    signs = np.array([objective.sign for objective in problem.objectives])
    return Reference(problem, None, (ground_truth(problem).values * signs).astype(np.float64))


def load_plugins(modules: Sequence[str], /, *, beside: Path | None = None) -> None:
    """Import modules, which register what they bring.

    A module may lie in the folder of the study; workers on other machines need it installed.

    >>> load_plugins(["tacit.no_such_module"])
    Traceback (most recent call last):
    tacit.errors.ParameterError: the plugin tacit.no_such_module cannot be imported (No module \
named 'tacit.no_such_module'); put it beside the study or install it
    """
    if modules and beside is not None and str(beside.resolve()) not in sys.path:
        sys.path.append(str(beside.resolve()))
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise ParameterError(
                f"the plugin {module} cannot be imported ({error}); "
                "put it beside the study or install it"
            ) from None


def object_named(dotted: str, /) -> Callable[[], Any]:
    """The function that `module.function` names."""
    module, _, name = dotted.rpartition(".")
    if not module:
        raise ParameterError(f"{dotted!r} names no module; write module.function")
    load_plugins([module])
    found = getattr(sys.modules[module], name, None)
    if not callable(found):
        raise ParameterError(f"{module} has no function {name}; correct the name")
    return found  # type: ignore[no-any-return]
