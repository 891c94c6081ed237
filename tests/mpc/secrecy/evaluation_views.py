"""Views of a whole evaluation at the coordinator and a node, as bits that can be counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from tacit.mpc import (
    COORDINATOR,
    ArithmeticShare,
    Best,
    DisclosedValues,
    FitnessBound,
    Session,
    Spec,
    collect,
    evaluate,
)
from tacit.mpc.local import parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.protocols import ranking
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import deal, held_by
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import corrected_p
from tests.mpc.secrecy.weakened import fixed_for, split_alike

BOUND = FitnessBound(-2, 7)
Observers = tuple[int, ...]
Source = Callable[[int], MaskSource]
Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class Secret:
    """What an evaluation is about: the fitness, and the best so far."""

    fitness: Sequence[int]
    old: int | None = None


@dataclass(frozen=True)
class Question:
    """What is disclosed, and to whom we listen."""

    text: str
    best: Best
    observers: Observers
    masks: type[RememberedMasks] = RememberedMasks
    nodes: int = 3
    told: bool = False
    """Whether the nodes are told the answer, too."""

    @property
    def node(self) -> int | None:
        """The node among the observers."""
        return next((o for o in self.observers if o != COORDINATOR), None)

    def source(self, number: int) -> Source:
        """Keys of this run: a node that listens has the same ones in every run."""
        nodes = self.nodes
        if self.node is not None:
            return fixed_for(self.node, number, self.masks, nodes=nodes)
        keys = [(nodes * number + c + 1).to_bytes(32, "little") for c in range(nodes)]
        return lambda me: self.masks({c: keys[c] for c in held_by(me, nodes)})

    def split(self, values: Sequence[int], number: int) -> list[ArithmeticShare]:
        """Shares of which a node that listens has the same ones in every run, else any."""
        if self.node is not None:
            return split_alike(np.array(values), self.node, nodes=self.nodes)
        return deal(to_ring(values), nodes=self.nodes, source=np.random.default_rng(number).bytes)


async def run_once(secret: Secret, ask: Question, number: int) -> DisclosedValues:
    """What one evaluation discloses."""
    fitness = ask.split(secret.fitness, 2 * number)
    old = None if secret.old is None else ask.split([secret.old], 2 * number + 1)
    about = {"spec": Spec.parse(ask.text), "bound": BOUND, "best": ask.best}
    n = len(secret.fitness)

    async def node(s: Session) -> None:
        state = None if old is None else old[s.me]
        await evaluate(s, fitness[s.me], **about, best_so_far=state, told=ask.told)  # type: ignore[arg-type]

    run = await parties(
        node,
        lambda s: collect(s, n, **about, best_so_far=secret.old),  # type: ignore[arg-type]
        nodes=ask.nodes,
        masks=ask.source(number),
    )
    outcome: DisclosedValues = run.coordinator
    return outcome


Letters = list[bytes]


@dataclass
class View:
    """What the observers see of one evaluation, and what is disclosed by it."""

    letters: Letters
    signs: NDArray[np.uint8]
    """The comparisons that were opened to the nodes, if one of them listens."""
    disclosed: DisclosedValues


async def view_of(secret: Secret, ask: Question, number: int) -> View:
    """One evaluation as the observers see it."""
    signs: list[NDArray[np.uint8]] = []
    ranks_of = ranking.ranks_of

    def noted(less: NDArray[np.uint8], n: int) -> NDArray[np.intp]:
        signs.append(less)
        return ranks_of(less, n)

    with pytest.MonkeyPatch.context() as patch, letters_seen() as seen:
        patch.setattr(ranking, "ranks_of", noted)
        outcome = await run_once(secret, ask, number)
    letters = [each.tobytes() for o in ask.observers for each in seen[o]]
    shown = signs[0] if ask.node is not None and signs else np.zeros(0, dtype=np.uint8)
    return View(letters, shown, outcome)


@cache
def _pairs(size: int) -> NDArray[np.intp]:
    """All ways to take two of so many, a line for the first and one for the second."""
    return np.array(list(combinations(range(size), 2)), dtype=np.intp).reshape(-1, 2).T


def _inside(letter: bytes) -> bytes:
    """What two entries of a letter give together, which a mask used for both does not hide."""
    start = np.frombuffer(letter[: len(letter) // 8 * 8][:32], dtype=np.uint64)
    narrow = start.view(np.uint32)
    parts = start[1:] - start[:-1], start[1:] ^ start[:-1], narrow[1:] ^ narrow[:-1]
    return b"".join(part.tobytes() for part in parts)


def single_bits(view: View) -> Bits:
    """The ends of each letter, two entries of it, what two letters give together, and the signs."""
    found = [b"".join(p[:8] + p[-2:] + _inside(p) for p in view.letters)]
    words = np.array([int.from_bytes(p[:8], "little") for p in view.letters], dtype=np.uint64)
    i, j = _pairs(len(words))
    found += [(words[i] + words[j]).tobytes(), (words[i] ^ words[j]).tobytes()]
    bits = np.unpackbits(np.frombuffer(b"".join(found), dtype=np.uint8))
    return np.concatenate([bits, view.signs])


def bits_for_pairs(view: View) -> Bits:
    """A few bits of each letter, of which all pairs are looked at."""
    bits = [bit for p in view.letters for bit in ((p[0] & 1), p[-1] & 1)]
    return np.concatenate([np.array(bits, dtype=np.uint8), view.signs])


def p_of_single_bits(first: Bits, second: Bits) -> float:
    """The smallest p-value over single bits, times how many there are."""
    ones = np.array([lines.sum(axis=0) for lines in (first, second)], dtype=np.float64)
    statistic = np.zeros(first.shape[1])
    for counts in (ones, len(first) - ones):
        total = np.maximum(counts.sum(axis=0), 1)
        statistic += (counts[0] - counts[1]) ** 2 / total
    return float(chi2.sf(statistic.max(), 1) * first.shape[1])


Disclosed = tuple[tuple[int, ...], int | None, bool | None]


def disclosed(outcome: DisclosedValues) -> Disclosed:
    """What the coordinator is meant to learn."""
    return tuple(outcome.labels.tolist()), outcome.best_value, outcome.improved


def p_of_same_view(
    pair: tuple[Secret, Secret], ask: Question, *, runs: int
) -> tuple[float, set[Disclosed]]:
    """The p-value for both secrets giving the same view, and all that was disclosed."""
    told: set[Disclosed] = set()

    async def lines(secret: Secret, numbers: range) -> list[tuple[Bits, Bits]]:
        seen = []
        for number in numbers:
            view = await view_of(secret, ask, number)
            told.add(disclosed(view.disclosed))
            seen.append((single_bits(view), bits_for_pairs(view)))
        return seen

    async def both() -> float:
        first = await lines(pair[0], range(runs))
        second = await lines(pair[1], range(runs, 2 * runs))
        if len({len(single) for single, _ in (*first, *second)}) > 1:
            return 0.0  # how much is sent depends on the secret
        single, pairs = (
            [np.array([line[k] for line in each]) for each in (first, second)] for k in (0, 1)
        )
        return 2 * min(p_of_single_bits(*single), corrected_p(*pairs))

    return asyncio.run(both()), told
