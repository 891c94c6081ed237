"""Permutations as real masks give them: uniform in fixed points, inversions and descents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import run_parties
from tacit.mpc.masks import KeyedMasks
from tacit.mpc.protocols.shuffle import draw_block_order, draw_order
from tacit.mpc.session import Session
from tacit.mpc.shares import held_by

SIZE, RUNS = 50, 200
LIKELY = 5
"""Standard deviations; what lies beyond is not chance."""
Permutation = NDArray[np.intp]


def keys(number: int, nodes: int = 3) -> dict[int, bytes]:
    return {c: (number * nodes + c + 1).to_bytes(32, "little") for c in range(nodes)}


def session(number: int) -> Session:
    """Node 0 of one evaluation, with its real source of masks; it sends nothing."""

    def no_wire(peer: int, substream: int) -> Any:
        raise AssertionError("drawing needs no message")

    return Session(0, nodes=3, masks=KeyedMasks(keys(number)), wire=no_wire)


def whole(number: int, nodes: int) -> Permutation:
    """A secret order, composed of the permutations of all components."""
    own = keys(number, nodes)
    run = run_parties(
        lambda s: drawn(s, SIZE),
        nodes=nodes,
        masks=lambda me: KeyedMasks({c: own[c] for c in held_by(me, nodes)}),
    )
    p = {**run.results[0], **run.results[1]}
    composed = np.arange(SIZE)
    for c in range(nodes):
        composed = composed[p[c]]
    return composed


async def drawn(s: Session, n: int) -> dict[int, Permutation]:
    return dict(draw_order(s, n, label="order").known)


def one(number: int, component: int = 1) -> Permutation:
    return draw_order(session(number), SIZE, label="order").known[component]


def block(number: int) -> Permutation:
    """The last of three blocks, as a permutation of itself."""
    order = draw_block_order(session(number), 3, SIZE, label="order").known[1]
    last: Permutation = order.reshape(3, SIZE)[2] - 2 * SIZE
    return last


def inversions(p: Permutation) -> int:
    return int(np.triu(p[:, None] > p[None, :], 1).sum())


def fixed_points(p: Permutation) -> int:
    return int((p == np.arange(len(p))).sum())


def descents(p: Permutation) -> int:
    return int((np.diff(p) < 0).sum())


# Mean and variance over uniform permutations of n.
EXPECTED: dict[Callable[[Permutation], int], Callable[[int], tuple[float, float]]] = {
    inversions: lambda n: (n * (n - 1) / 4, n * (n - 1) * (2 * n + 5) / 72),
    fixed_points: lambda n: (1, 1),
    descents: lambda n: ((n - 1) / 2, (n + 1) / 12),
}


def deviations(samples: list[Permutation]) -> list[float]:
    """By how many standard deviations each mean is off."""
    found = []
    for statistic, moments in EXPECTED.items():
        mean, variance = moments(len(samples[0]))
        seen = np.mean([statistic(p) for p in samples])
        found.append(abs(float(seen) - mean) / math.sqrt(variance / len(samples)))
    return found


SOURCES: dict[str, Callable[[int], Permutation]] = {
    "one": one,
    "whole of three": partial(whole, nodes=3),
    "whole of four": partial(whole, nodes=4),
    "block": block,
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_permutation_is_uniform(name: str) -> None:
    samples = [SOURCES[name](number) for number in range(RUNS)]
    assert all(sorted(p) == list(range(SIZE)) for p in samples[:3])
    assert max(deviations(samples)) < LIKELY


def test_a_permutation_and_its_neighbours_have_nothing_in_common() -> None:
    """Of another component, another label, another block: no common order, no common places."""
    samples = []
    for number in range(RUNS):
        order = draw_order(session(number), SIZE, label="order").known
        other = draw_order(session(number), SIZE, label="other").known
        blocks = draw_block_order(session(number), 2, SIZE, label="order").known[1]
        first, second = blocks[:SIZE], blocks[SIZE:] - SIZE
        pairs = (order[1], order[2]), (order[1], other[1]), (first, second)
        samples.append([np.argsort(a)[b] for a, b in pairs])
    for related in zip(*samples, strict=True):
        assert max(deviations(list(related))) < LIKELY


@pytest.mark.parametrize("bits", [3, 8])
def test_short_sort_keys_are_caught(bits: int) -> None:
    rng = np.random.default_rng(1)
    samples = [np.argsort(rng.integers(0, 1 << bits, 4 * SIZE), kind="stable") for _ in range(RUNS)]
    assert max(deviations(samples)) > LIKELY


@contextmanager
def sort_keys() -> Iterator[list[NDArray[Any]]]:
    """What permutations are sorted by, while they are drawn."""
    seen: list[NDArray[Any]] = []
    argsort = np.argsort

    def noted(a: Any, *args: Any, **options: Any) -> Any:
        seen.append(np.asarray(a))
        return argsort(a, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "argsort", noted)
        yield seen


@pytest.mark.parametrize("blocks", [None, 40])
def test_no_sort_key_occurs_twice(blocks: int | None) -> None:
    """Equal keys would stay in order; 64 bits make them as rare as is claimed."""
    n = 4000
    with sort_keys() as seen:
        for number in range(3):
            if blocks is None:
                draw_order(session(number), n, label="order")
            else:
                draw_block_order(session(number), blocks, n // blocks, label="order")
    assert len(seen) == 2 * 3  # both components of a node, three times
    for sorted_by in seen:
        words = sorted_by.reshape(-1)
        assert words.dtype == np.uint64
        assert len(np.unique(words)) == n
        share = np.unpackbits(words.view(np.uint8)).reshape(n, 64).mean(axis=0)
        assert np.all(abs(share - 0.5) < LIKELY / math.sqrt(4 * n))
