"""Files that people give: problems in every format, and the configuration of nodes and clusters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from tacit.identity.cluster import write_cluster
from tacit.identity.config import load_cluster_config, load_node_config
from tacit.local.cluster import memory_folder
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_routing,
    generate_tour,
    load_problem,
    save_problem,
)
from tests.fuzz.harness import Target, Trial
from tests.fuzz.mutations import as_json, mangled, mutated, sometimes_mangled

TOUR = b"""NAME: small
TYPE: TSP
DIMENSION: 4
EDGE_WEIGHT_TYPE: EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8.5
4 1e2 0
EOF
"""
TABLE = b"flight,s1,s2\nF1,1.5,2\nF2,3,4\n"


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=memory_folder(), prefix="tacit-fuzz-") as folder:
        yield Path(folder)


@contextmanager
def problem_files() -> Iterator[Trial]:
    """JSON with changes that a reader of JSON cannot see, CSV and TSPLIB with any."""
    with _folder() as folder:
        problems: list[Problem] = [
            generate_assignment(1, rows=3, columns=4, participants=2),
            generate_capacitated(1, rows=4, columns=2),
            generate_tour(1, cities=4),
            generate_routing(1, places=5, vehicles=2),
        ]
        trees = []
        for number, problem in enumerate(problems):
            save_problem(problem, folder / f"{number}.json")
            trees.append(msgspec.json.decode((folder / f"{number}.json").read_bytes()))

        @st.composite
        def examples(draw: st.DrawFn) -> tuple[str, bytes]:
            suffix = draw(st.sampled_from(["json", "json", "csv", "tsp"]))
            if suffix == "json":
                tree = draw(mutated(draw(st.sampled_from(trees))))
                return "p.json", draw(sometimes_mangled(as_json(tree)))
            data = draw(mangled(TABLE if suffix == "csv" else TOUR))
            return f"p.{suffix}", draw(sometimes_mangled(data))

        def run(example: tuple[str, bytes]) -> int:
            name, data = example
            (folder / name).write_bytes(data)
            load_problem(folder / name)
            return 1

        yield Trial(examples(), run)


@contextmanager
def config_files() -> Iterator[Trial]:
    """The files of a cluster with changed bytes."""
    with _folder() as folder:
        write_cluster(folder, [f"127.0.0.1:{port}" for port in (1, 2, 3)])
        readers: dict[str, Callable[[Path], Any]] = {
            "node-0.toml": load_node_config,
            "cluster.toml": load_cluster_config,
        }
        sources = [((folder / name).read_bytes(), name) for name in readers]

        @st.composite
        def examples(draw: st.DrawFn) -> tuple[str, bytes]:
            data, name = draw(st.sampled_from(sources))
            return name, draw(sometimes_mangled(draw(mangled(data))))

        def run(example: tuple[str, bytes]) -> int:
            name, data = example
            (folder / name).write_bytes(data)
            readers[name](folder / name)
            return 1

        yield Trial(examples(), run)


TARGETS = [Target("problems", 100_000, problem_files), Target("configs", 20_000, config_files)]
