"""Import and compile everything, once, in the server that workers are forked from.

This is the one module that works at import: a fork server takes modules and nothing else, and
kernels that are compiled here need not be loaded by each worker.
"""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace

from tacit.problems import (
    Objective,
    generate_assignment,
    generate_capacitated,
    generate_routing,
    generate_tour,
)
from tacit.search import PRESETS, warm_up
from tacit.service.execution import worker
from tacit.service.workflow import large_input

__all__ = ["large_input", "worker"]
BEHIND = 10
"""The main process comes first: it is near-idle and has to answer on time. Workers inherit it.

They are behind the main process, not behind everything: where that one could raise its priority,
workers have the usual one, and nodes on the same host do not starve them.
"""


def warm_up_all() -> None:
    """Every preset on the kinds of problem that it is for."""
    for parameters in PRESETS.values():
        count = 2 if parameters.algorithm == "nsga2" else 1
        objectives = tuple(Objective(f"{k}", None, weight_bound=1) for k in range(count))
        for drawn in (
            generate_assignment(1, rows=3),
            generate_assignment(1, rows=3, columns=4),
            generate_capacitated(1, rows=3, columns=2),
            generate_tour(1, cities=4),
            generate_routing(1, places=4, vehicles=2),
        ):
            warm_up(replace(drawn, objectives=objectives), parameters)


def is_fork_server() -> bool:
    """Whether this process is the server, and not something that merely looks at its modules."""
    return any("multiprocessing.forkserver" in argument for argument in sys.orig_argv)


if is_fork_server():
    os.nice(BEHIND)
    warm_up_all()
    # What workers share stays shared: looking for garbage in it would copy it for each.
    gc.freeze()
