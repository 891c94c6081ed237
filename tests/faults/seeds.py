"""Which arena a seed strikes, and all seeds in their arenas."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.faults.arena import open_arena
from tests.faults.faults import KINDS
from tests.faults.harness import Episode, Harness, show

NODES = (4, 3)


def arena_of_seed(seed: int) -> tuple[int, bool]:
    """How many nodes a fault has, and whether the platform uses PostgreSQL."""
    names = list(KINDS)
    if names[seed % len(names)] == "database":
        return 4, True
    nodes = NODES[seed // len(names) % len(NODES)]
    return nodes, nodes == 4


def run_arena(
    kind: tuple[int, bool], seeds: Sequence[int], keep: Path | None
) -> tuple[list[Episode], dict[str, object]]:
    """Strike one arena with these seeds; its figures come along."""
    # However the process is ended, what it has mounted and started goes with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    nodes, postgres = kind
    with open_arena(nodes=nodes, postgres=postgres) as arena:
        harness, found = Harness(arena, list(KINDS)), list[Episode]()
        for seed in seeds:
            found.append(harness.episode(seed))
            show(found[-1])
        if changed := harness.finish():
            found[-1].violations += changed
            show(found[-1])
        figures = harness.figures()
        if keep is not None:
            shutil.copytree(arena.folder, keep / arena.name, dirs_exist_ok=True)
    return found, figures


def run_seeds(
    seeds: Sequence[int], keep: Path | None
) -> tuple[list[Episode], list[dict[str, object]]]:
    """Strike with all of them: arenas side by side, the faults of one after each other."""
    by_kind: dict[tuple[int, bool], list[int]] = {}
    for seed in seeds:
        by_kind.setdefault(arena_of_seed(seed), []).append(seed)
    # Processes, since each counts how long its own ones wait for a core.
    with ProcessPoolExecutor(len(by_kind), mp_context=get_context("spawn")) as pool:
        made = [pool.submit(run_arena, kind, own, keep) for kind, own in by_kind.items()]
        done = [each.result() for each in made]
    episodes = [episode for found, _ in done for episode in found]
    return sorted(episodes, key=lambda each: each.seed), [figures for _, figures in done]
