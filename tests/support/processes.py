"""Mark the tests that start processes, and keep all others from starting any.

`make check` leaves the marked ones out, so that it stays quick.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import pytest

from tacit.local.node_processes import FORKED

MARK = "processes"
_EVENTS = {
    *("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"),
    FORKED,
}
_HARMLESS = {"fc-list"}
"""Matplotlib asks for the fonts of a machine once, when it is used for the first time."""

_fixtures: set[object] = set()
_guarded: list[str] = []
"""The test that is running, unless it may start processes."""

Fixture = TypeVar("Fixture", bound=Callable[..., Any])


def starts_processes(fixture: Fixture) -> Fixture:
    """Mark a fixture, below `pytest.fixture`: tests that use it are marked by themselves."""
    _fixtures.add(fixture)
    return fixture


def uses_processes(item: pytest.Item) -> bool:
    """Whether a fixture of the test starts processes."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return False
    return any(each[-1].func in _fixtures for each in info.name2fixturedefs.values())


@contextmanager
def guarded(item: pytest.Item) -> Iterator[None]:
    """Fail a test without the mark that starts a process."""
    if item.get_closest_marker(MARK) is not None:
        yield
        return
    _guarded.append(item.nodeid)
    try:
        yield
    finally:
        _guarded.clear()


def install_guard() -> None:
    """Watch this interpreter for as long as it lives: audit hooks cannot be taken back."""
    sys.addaudithook(_watch)
    start = BaseProcess.start

    def watched(self: BaseProcess) -> None:
        _refuse(f"multiprocessing: {self.name}")
        start(self)

    BaseProcess.start = watched  # type: ignore[method-assign]


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and not (arguments and arguments[0] in _HARMLESS):
        _refuse(f"{event}: {arguments[:2]}")


def _refuse(what: str) -> None:
    if _guarded:
        raise AssertionError(
            f"{_guarded[0]} starts a process ({what}); mark it with `@pytest.mark.{MARK}`, or its "
            "fixture with `tests.support.processes.starts_processes`"
        )
