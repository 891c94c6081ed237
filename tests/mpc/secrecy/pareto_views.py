"""What the coordinator and a node see of an evaluation in several objectives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc import COORDINATOR, ArithmeticShare, FitnessBound, Session, Spec
from tacit.mpc.disclose import dominance, evaluation
from tacit.mpc.disclose.dominance import ParetoWidths
from tacit.mpc.disclose.front import collect_front, reveal_front
from tacit.mpc.disclose.pareto_score import collect_pareto, evaluate_pareto
from tacit.mpc.local import parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.protocols.ranking import Ranking, rank_all_pairs
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import deal, held_by
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.evaluation_views import Bits, p_of_single_bits
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.weakened import fixed_for, split_alike

Values = Sequence[Sequence[int]]
"""A line per objective."""
BOUND = FitnessBound(0, 7)


@dataclass(frozen=True)
class Asked:
    """What is disclosed, and to whom we listen."""

    text: str
    """A disclosure; `plans` or `values` for the final reveal."""
    observers: tuple[int, ...]
    nodes: int = 3
    masks: type[RememberedMasks] = RememberedMasks

    @property
    def is_reveal(self) -> bool:
        """Whether it is the final reveal that is watched."""
        return self.text in ("plans", "values")

    @property
    def node(self) -> int | None:
        """The node among the observers."""
        return next((o for o in self.observers if o != COORDINATOR), None)

    def source(self, number: int) -> Callable[[int], MaskSource]:
        """Keys of this run: a node that listens has the same ones in every run."""
        if self.node is not None:
            return fixed_for(self.node, number, self.masks, nodes=self.nodes)
        keys = [(self.nodes * number + c + 1).to_bytes(32, "little") for c in range(self.nodes)]
        return lambda me: self.masks({c: keys[c] for c in held_by(me, self.nodes)})

    def split(self, values: Values, number: int) -> list[list[ArithmeticShare]]:
        """Shares of each objective, by node."""
        if self.node is not None:
            made = [split_alike(np.array(line), self.node, nodes=self.nodes) for line in values]
        else:
            random = np.random.default_rng(number).bytes
            made = [deal(to_ring(line), nodes=self.nodes, source=random) for line in values]
        return [[line[me] for line in made] for me in range(self.nodes)]


@contextmanager
def _ranks_seen() -> Iterator[dict[str, NDArray[np.intp]]]:
    """The ranks that are opened to the nodes, by the label of the ranking."""
    seen: dict[str, NDArray[np.intp]] = {}

    async def noted(*args: Any, label: str, **options: Any) -> Ranking:
        ranking = await rank_all_pairs(*args, label=label, **options)
        assert np.array_equal(seen.setdefault(label, ranking.ranks), ranking.ranks)
        return ranking

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dominance, "rank_all_pairs", noted)
        patch.setattr(evaluation, "rank_all_pairs", noted)
        yield seen


def _letter_bits(letter: NDArray[Any]) -> list[int]:
    """Both ends of a letter, and which of its first two rows is larger if one mask hides both."""
    data = letter.tobytes()
    bits = [data[0] & 1, data[-1] & 1] if data else []
    if letter.dtype == np.uint64 and len(letter) > 1:
        bits.append(int(np.ravel(letter[1:2] - letter[:1])[0] >> np.uint64(63)))
    return bits


async def _view(values: Values, ask: Asked, number: int) -> tuple[Bits, tuple[int, ...]]:
    """Bits of all that the observers see, and what is disclosed."""
    shares = ask.split(values, number)
    widths = ParetoWidths([BOUND] * len(values), len(values[0]))

    async def node(s: Session) -> None:
        if ask.is_reveal:
            await reveal_front(s, shares[s.me], widths, values=ask.text == "values")
        else:
            await evaluate_pareto(s, shares[s.me], spec=Spec.parse(ask.text), widths=widths)

    async def collect(s: Session) -> list[int]:
        if not ask.is_reveal:
            told = await collect_pareto(s, spec=Spec.parse(ask.text), widths=widths)
            return [int(label) for label in told.labels]
        shown = await collect_front(s, widths, values=ask.text == "values")
        bits = np.isin(np.arange(widths.candidates), shown.nondominated).astype(int)
        return [*bits.tolist(), *([] if shown.values is None else shown.values.ravel().tolist())]

    with _ranks_seen() as ranks, letters_seen() as seen:
        run = await parties(node, collect, nodes=ask.nodes, masks=ask.source(number))
    bits = [bit for o in ask.observers for each in seen[o] for bit in _letter_bits(each)]
    labels = run.coordinator
    if COORDINATOR in ask.observers:
        bits += [int(a < b) for a, b in combinations(labels, 2)]
    if ask.node is not None:
        assert len(ranks) == (1 if ask.is_reveal else len(values) + 1)
        for label in sorted(ranks):
            bits += [int(a < b) for a, b in combinations(ranks[label], 2)]
    return np.array(bits, dtype=np.uint8), tuple(labels)


def _with_pairs(lines: Bits) -> Bits:
    """All bits, and whether two of them are equal."""
    i, j = np.triu_indices(lines.shape[1], 1)
    return np.concatenate([lines, lines[:, i] ^ lines[:, j]], axis=1)


def p_of_same_view(
    pair: tuple[Values, Values], ask: Asked, *, runs: int
) -> tuple[float, set[tuple[int, ...]]]:
    """The p-value for both giving the same view, and all that was disclosed."""
    told: set[tuple[int, ...]] = set()

    async def lines(values: Values, numbers: range) -> list[Bits]:
        found = []
        for number in numbers:
            bits, labels = await _view(values, ask, number)
            told.add(labels)
            found.append(bits)
        return found

    async def both() -> float:
        first = await lines(pair[0], range(runs))
        second = await lines(pair[1], range(runs, 2 * runs))
        if len({len(bits) for bits in (*first, *second)}) > 1:
            return 0.0  # how much is sent depends on the secret
        return p_of_single_bits(_with_pairs(np.array(first)), _with_pairs(np.array(second)))

    return asyncio.run(both()), told
