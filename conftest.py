"""Marks of tests and doctests; see `make check` and `make test`."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.failure_report import begin_test, failure_report, install_failure_report
from tests.support.processes import MARK, guarded, install_guard, uses_processes

# Several test processes share the cores. The threads of a linear algebra library that wait for
# each other burn what the other processes need: an audit took ten times its time. This is read
# when NumPy is loaded, which nothing has done yet, and by every process that a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A thousand modules are imported, and none goes away: whoever looks for garbage among them
# finds none, and takes nearly as long as the imports.
gc.disable()

PROCESS_DOCTESTS = (
    "tacit.local.cluster.LocalCluster",
    "studies.benchmarks.engine.measure_engine",
    "tacit.runs.plots.plot_result",
)
"""Doctests that start processes, by how their names begin: they carry no marks of their own."""
SLOW_DOCTESTS = ("tacit.audit.platform_attacks", "tacit.audit.audit.")


def pytest_configure() -> None:
    install_guard()
    install_failure_report()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        # Nor among what has been collected.
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests are looked for where some are, which all workers do, in a thousand files."""
    found = yield
    if not found or b">>>" in file_path.read_bytes():
        return found
    return [each for each in found if type(each) is pytest.Module]


LEFT_OUT = ("deployment", "study")
"""Marks of tests that have a target of their own in make, and run if `-m` asks for them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = [mark for mark in LEFT_OUT if mark not in config.option.markexpr]
    left = [item for item in items if any(item.get_closest_marker(mark) for mark in others)]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)
    for item in items:
        if uses_processes(item) or item.name.startswith(PROCESS_DOCTESTS):
            item.add_marker(MARK)
        if item.name.startswith(SLOW_DOCTESTS):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    begin_test()
    with guarded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    # Not when it is torn down: that may end what other tests have used.
    with guarded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the nodes and platforms of a failed test logged, and how busy the machine was."""
    report = yield
    if report.failed:
        own = getattr(item, "funcargs", {}).get("tmp_path")
        report.sections.append(
            ("Machine and logs", failure_report([own] if isinstance(own, Path) else []))
        )
    return report
