"""A short run of every target; `make fuzz` is the long one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tacit.errors import FileError
from tests.fuzz.harness import MOST_MEGABYTES, MOST_SECONDS, Target, Trial, fuzz
from tests.fuzz.mutations import _change
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.slow

FEW = {"headers": 6400, "streams": 3200, "muxes": 3200, "nodes": 64}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_nothing_is_found(target: Target) -> None:
    outcome = fuzz(target, count=FEW.get(target.name, 200), seed=1)
    assert not outcome.finding
    assert outcome.tried >= FEW.get(target.name, 200)
    assert outcome.grown_megabytes < MOST_MEGABYTES


def made(run: Callable[[Any], int], most_seconds: float = MOST_SECONDS) -> Target:
    @contextmanager
    def trial() -> Iterator[Trial]:
        yield Trial(st.integers(0, 100), run)

    return Target("made", 100, trial, most_seconds=most_seconds)


def refusing(_: int) -> int:
    raise FileError("a.csv", None, "is wrong", "correct it")


def crashing(number: int) -> int:
    if number > 50:
        raise IndexError("beyond the end")
    return 1


def hanging(number: int) -> int:
    while number > 50:
        pass
    return 1


def greedy(number: int) -> int:
    return len(bytearray((2 * MOST_MEGABYTES) << 20)) if number > 50 else 1


def swallowing(number: int) -> int:
    try:
        return hanging(number)
    except Exception:
        return 1


@pytest.mark.parametrize(
    ("run", "finding"),
    [
        (crashing, "IndexError: beyond the end"),
        (hanging, "computed for more than 0.1 s"),
        (swallowing, "computed for more than 0.1 s"),
        (greedy, "MemoryError"),
    ],
)
def test_what_goes_wrong_is_found_again_by_its_seed(
    run: Callable[[int], int], finding: str
) -> None:
    target = made(run, 0.1 if "0.1 s" in finding else MOST_SECONDS)
    first = fuzz(target, count=100, seed=5)
    assert finding in first.finding
    assert first.seed is not None
    assert fuzz(target, count=100, seed=first.seed).finding == first.finding


def test_an_example_that_waits_is_no_finding() -> None:
    def waiting(_: int) -> int:
        time.sleep(0.15)
        return 1

    outcome = fuzz(made(waiting, 0.1), count=1, seed=1)
    assert (outcome.tried, outcome.finding) == (1, "")
    assert outcome.slowest < 0.1


def test_documented_errors_are_counted_and_no_finding() -> None:
    outcome = fuzz(made(refusing), count=50, seed=1)
    assert (outcome.refused, outcome.finding) == (outcome.examples, "")
    assert outcome.refused >= 50


@st.composite
def swapped(draw: st.DrawFn) -> Any:
    return _change(draw, {1: "a", "x": 2}, (1,), "swap")


@hypothesis.given(swapped())
def test_names_and_numbers_change_places(changed: dict[int | str, int | str]) -> None:
    """A name may have been added to what had numbers alone; long runs ended there."""
    assert changed in ({1: "a", "x": 2}, {1: 2, "x": "a"})
