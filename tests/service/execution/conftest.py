"""One platform with its workers and three nodes, all real processes, for this folder's tests.

A test that leaves it dead is an error of that test alone: the next one finds it alive.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest
from studies.benchmarks.live_platform import LivePlatform

from tacit.errors import EngineError
from tests.support.mending import mend
from tests.support.processes import starts_processes

LIVE = pytest.StashKey[LivePlatform]()
DELAY_MS = 2.0
"""Of the nodes' messages. Runs last until their deadlines; meanwhile others shall compute, too."""


@pytest.fixture(scope="package")
@starts_processes
def live(pytestconfig: pytest.Config) -> Iterator[LivePlatform]:
    """Whoever kills a part of it starts it again."""
    with LivePlatform(slots=2, delay_ms=DELAY_MS) as running:
        pytestconfig.stash[LIVE] = running
        yield running
        del pytestconfig.stash[LIVE]


def what_died(live: LivePlatform) -> str:
    """What runs no longer, with what it said last."""
    if live.process is None:
        return "the platform was killed and is not there again"
    if found := live.death():
        return found
    try:
        live.clusters[0].check_alive()
    except EngineError as error:
        return str(error)
    return ""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    # Before fixtures end, this platform among them.
    live = item.config.stash.get(LIVE, None)
    found = "" if live is None else what_died(live)
    if live is not None and found:
        live.kill()
        live.start()
        mend(live.clusters[0])
    done = yield
    if found:
        pytest.fail(found, pytrace=False)
    return done
