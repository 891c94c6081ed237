"""A node's whole view of a protocol, exactly: every letter has a pad, every order is uniform.

The masks that a node lacks are changed one label at a time, and all else stays. If a letter then
changes by what the mask changed by, the mask is its pad. A label is drawn once (`Session`), and
never by the node that receives the letter. So letters that each have a pad of their own are uniform
words, whatever they are made of. Of letters by which signs are opened, one per node follows from
the others and the signs.

Which order a minimum opens is a function of its keys and of the permutation that the node lacks. If
the orders of a group are all different when that permutation takes every value, they are uniform;
if all others stay as they were, they are independent. Keys that are equal would give one order
twice. No chance is involved, and no choice of secrets that some weakness would tell apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.local import parties
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import held_by
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.test_minimum_views import orders_seen

OBSERVER = 1
MIXING, OPENED = ".order.p", ".opened."
"""What labels of permutations end with, and what those of masks of opened signs have inside."""
AFTER = 4
"""How many masks are drawn until the letters under one are there."""
Work = Callable[[Session], Coroutine[Any, Any, None]]
Order = tuple[int, ...]


class _EnoughError(Exception):
    """The rest of a run does not matter."""


class NotedMasks(RememberedMasks):
    """Masks of which those that the observer lacks are noted, or replaced."""

    given: Mapping[str, Words]
    drawn: dict[str, Words]
    last: str | None
    """The label at which the run ends."""

    def words(self, label: str, component: int, count: int) -> Words:
        words = super().words(label, component, count)
        if component != OBSERVER:
            return words
        if label == self.last:
            raise _EnoughError
        words = self.given.get(label, words)
        self.drawn[label] = words
        return words


def without_mask(unmasked: str) -> type[NotedMasks]:
    """A weakened source: the mask of this label is 0."""

    class Unmasked(NotedMasks):
        def words(self, label: str, component: int, count: int) -> Words:
            words = super().words(label, component, count)
            return words * np.uint64(0) if label == unmasked else words

    return Unmasked


class NotMixed(NotedMasks):
    """A weakened source: all candidates stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        words = super().words(label, component, count)
        return np.arange(count, dtype=np.uint64) if label.endswith(MIXING) else words


class MixedAlike(NotedMasks):
    """A weakened source: the second of two groups is mixed as the first one is."""

    def words(self, label: str, component: int, count: int) -> Words:
        words = super().words(label, component, count)
        return np.tile(words[: count // 2], 2) if label.endswith(MIXING) else words


@dataclass(frozen=True)
class View:
    """What one run shows to the observer, and the words that it lacks."""

    letters: list[NDArray[Any]]
    orders: list[Order]
    """The signs of each level of each minimum."""
    drawn: dict[str, Words]


async def _view(
    work: Work,
    nodes: int,
    given: Mapping[str, Words],
    masks: type[NotedMasks],
    last: str | None = None,
) -> View:
    drawn: dict[str, Words] = {}

    def source(me: int) -> NotedMasks:
        made = masks({c: bytes([c + 1]) * 32 for c in held_by(me, nodes)})
        made.given, made.drawn, made.last = given, drawn, last
        return made

    with letters_seen() as arrived, orders_seen() as orders, suppress(_EnoughError):
        await parties(work, nodes=nodes, masks=source, timeout=60.0)
    # A level that has nothing to compare opens nothing.
    shown = [signs for signs in next(iter(orders.values()), []) if signs]
    return View(arrived[OBSERVER], shown, drawn)


def _chunks(words: Words, letter: NDArray[Any], most: int) -> list[NDArray[Any]]:
    """A mask in parts as long as a letter, if it is made for so many such letters at most."""
    size, flat = letter.nbytes, words.view(np.uint8)
    fits = [k for k in range(1, most + 1) if -(-k * size // 8) == len(words)]
    return [flat[k * size : (k + 1) * size].view(letter.dtype) for k in range(max(fits, default=0))]


def _padded_by(before: View, after: View, label: str, nodes: int) -> set[int]:
    """The letters that changed by what the mask changed by: of each part the first one.

    A second letter under the same mask is not padded. Of masks under which signs are opened two
    letters add up to what does not change.
    """
    taken: dict[int, list[int]] = {}
    for number, (one, two) in enumerate(zip(before.letters, after.letters, strict=False)):
        a, b = one.reshape(-1), two.reshape(-1)
        olds, news = (_chunks(view.drawn[label], a, nodes - 1) for view in (before, after))
        for part, (old, new) in enumerate(zip(olds, news, strict=True)):
            same = [np.array_equal(b - a, new - old), np.array_equal(a - b, new - old)]
            if not np.array_equal(a, b) and any([*same, np.array_equal(a ^ b, old ^ new)]):
                taken.setdefault(part, []).append(number)
    most = 2 if OPENED in label else 1
    return {number for numbers in taken.values() for number in numbers[:most]}


Pads = dict[str, set[int]]


def pads(work: Work, nodes: int, masks: type[NotedMasks] = NotedMasks, only: str = "") -> Pads:
    """The letters that each mask pads; with `only`, of the mask of this label alone.

    All letters stand under no label.
    """

    async def every() -> Pads:
        view = await _view(work, nodes, {}, masks)
        labels = list(view.drawn)
        made: Pads = {"": set(range(len(view.letters)))}
        for number, label in enumerate(labels):
            if label.endswith(MIXING) or (only and label != only):
                continue
            words = view.drawn[label]
            change = np.random.default_rng(1).integers(0, 2**64, len(words), dtype=np.uint64)
            other = words ^ (change | np.uint64(0x0101010101010101))  # each byte changes
            # Some masks later its letters have arrived; if not, they are found to have no pad.
            last = labels[number + AFTER] if number + AFTER < len(labels) else None
            changed = await _view(work, nodes, {label: other}, masks, last)
            made[label] = _padded_by(view, changed, label, nodes)
        return made

    return asyncio.run(every())


def faults_of_letters(found: Pads, nodes: int) -> list[str]:
    """Nothing, if the letters that the observer sees are uniform words but for opened signs."""
    of_opened = [letters for label, letters in found.items() if OPENED in label]
    padded = set().union(*(letters for label, letters in found.items() if label))
    faults = [f"letter {k} has no pad" for k in sorted(found[""] - padded)]
    # All but one of the nodes - 1 letters that open signs have one pad, and that one has them all.
    shown = len(set().union(*of_opened))
    if shown * (nodes - 2) != len(of_opened) * (nodes - 1):
        faults.append(f"{len(of_opened)} masks for {shown} letters that open signs")
    return faults


def mixings(view: View) -> list[str]:
    """The labels of all permutations."""
    return [label for label in view.drawn if label.endswith(MIXING)]


def faults_of_orders(
    work: Work,
    nodes: int,
    sizes: Mapping[str, int],
    masks: type[NotedMasks] = NotedMasks,
) -> list[str]:
    """Minima whose orders are not uniform or not independent; all groups of one have one size."""

    async def every() -> list[str]:
        view = await _view(work, nodes, {}, masks)
        faults = []
        for number, label in enumerate(mixings(view)):
            size = sizes.get(label.removesuffix(MIXING), sizes[""])
            ways, groups = list(permutations(range(size))), len(view.drawn[label]) // size
            first = [ways[group % len(ways)] for group in range(groups)]
            tried = [[ways[(k + g) % len(ways)] for g in range(groups)] for k in range(len(ways))]
            seen, others = [], set()
            for each in [*tried, [ways[1], *first[1:]]]:
                given = {label: np.array(each, dtype=np.uint64).reshape(-1)}
                orders = (await _view(work, nodes, given, masks)).orders
                seen.append(np.array(orders.pop(number)).reshape(groups, -1).tolist())
                others.add(tuple(orders))
            if others != {tuple(view.orders[:number] + view.orders[number + 1 :])}:
                faults.append(f"{label} changes other orders")
            *seen, alone = seen
            if any(len({tuple(run[g]) for run in seen}) != len(ways) for g in range(groups)):
                faults.append(f"{label} does not make orders uniform")
            elif alone[1:] != seen[0][1:]:
                faults.append(f"{label} mixes groups alike")
        return faults

    return asyncio.run(every())
