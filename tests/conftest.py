"""Fixtures of all tests: a deterministic Hypothesis, small problems and small searches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tacit.cli.main import main
from tacit.local.cluster import LocalCluster
from tacit.problems import Assignment, Objective, Tour, generate_assignment, generate_tour
from tacit.search import SearchParameters
from tests.support.mending import mend
from tests.support.nursery import nursery
from tests.support.processes import starts_processes

settings.register_profile(
    "tacit",
    derandomize=True,
    deadline=None,
    max_examples=60,
    # Kernels compile at their first call, which is slow once and says nothing about the test.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tacit")

RunTacit = Callable[..., "subprocess.CompletedProcess[str]"]


def simulated_words(arguments: Sequence[str | Path]) -> list[str]:
    """The words of a command; `solve` runs simulated unless it says something else."""
    words = [str(argument) for argument in arguments]
    if words[:1] == ["solve"] and not {"--engine", "--nodes", "--help"} & set(words):
        words += ["--engine", "simulated"]
    return words


@pytest.fixture(scope="session")
def tacit_script() -> str:
    """The installed command."""
    return str(Path(sys.executable).with_name("tacit"))


@pytest.fixture(scope="session")
@starts_processes
def run_tacit(tacit_script: str) -> RunTacit:
    """Run the command in a process of its own, away from any terminal."""

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tacit_script, *simulated_words(arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=cwd,
            # Wide enough that a message is never wrapped into several lines.
            env={**os.environ, "COLUMNS": "400"},
            check=False,
        )

    return run


@pytest.fixture
def run_here(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunTacit:
    """Call the command's `main` in this process, which saves the time of a new interpreter."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = ["tacit", *simulated_words(arguments)]
        monkeypatch.setattr(sys, "argv", command)
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(command, int(ended.value.code or 0), *shown)

    return run


@pytest.fixture(scope="session", autouse=True)
def nodes_from_the_nursery() -> Iterator[None]:
    """Nodes of all clusters are forked from one process, with kernels loaded."""
    with pytest.MonkeyPatch.context() as patch:
        for user in ("tacit.local.cluster", "tacit.cli.main"):
            patch.setattr(import_module(user), "shared_fork_server", nursery)
        yield
    nursery().close()


@pytest.fixture(scope="session")
@starts_processes
def cluster() -> Iterator[LocalCluster]:
    """Three real nodes, shared by the tests that leave them as they were."""
    with LocalCluster(chosen_populations=True) as running:
        yield running
        running.check_alive()


@pytest.fixture(scope="session")
@starts_processes
def cluster_to_mend() -> Iterator[LocalCluster]:
    with LocalCluster(chosen_populations=True) as running:
        yield running


@pytest.fixture
@starts_processes
def own_cluster(cluster_to_mend: LocalCluster) -> Iterator[LocalCluster]:
    """Three nodes for a test that stops, kills or restarts them; they are mended afterwards.

    Three new interpreters take longer than most of these tests.
    """
    yield cluster_to_mend
    mend(cluster_to_mend)


@pytest.fixture
@starts_processes
def fresh_cluster() -> Iterator[LocalCluster]:
    """Three new nodes, for a test that looks at all they have, or changes what they are."""
    with LocalCluster(chosen_populations=True) as running:
        yield running


@pytest.fixture
def small_search() -> SearchParameters:
    """A genetic algorithm that takes a millisecond."""
    return SearchParameters(population=20, elites=3, tournament=3)


@pytest.fixture
def small_assignment() -> Assignment:
    return generate_assignment(7, rows=12)


@pytest.fixture
def small_tour() -> Tour:
    return generate_tour(7, cities=12)


@pytest.fixture
def small_two_objectives() -> Assignment:
    return generate_assignment(7, rows=12, objectives=2)


@pytest.fixture
def small_forbidden() -> Assignment:
    """Seven rows, nine columns, and a plan hidden in a mask that forbids two thirds."""
    rng = np.random.Generator(np.random.PCG64(3))
    weights = rng.integers(0, 100, size=(7, 9))
    forbidden = rng.random((7, 9)) < 0.66
    forbidden[np.arange(7), rng.permutation(9)[:7]] = False
    return Assignment(
        name="forbidden",
        rows=7,
        columns=9,
        objectives=(Objective("pay", weights),),
        forbidden=forbidden,
    )
