"""Views of Pareto scores and of the final reveal tell nothing; weakened twins are caught."""

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

from tacit.mpc import COORDINATOR, ArithmeticShare, BitShare, FitnessBound, Session, Spec
from tacit.mpc.disclose import dominance, evaluation, front, pareto_score
from tacit.mpc.disclose.dominance import ParetoWidths
from tacit.mpc.disclose.front import collect_front, reveal_front
from tacit.mpc.disclose.pareto_score import collect_pareto, evaluate_pareto
from tacit.mpc.local import parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.protocols.halves import choose
from tacit.mpc.protocols.ranking import Ranking, rank_all_pairs
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_block_order, draw_order
from tacit.mpc.ring import Words, to_ring
from tacit.mpc.shares import deal, held_by
from tests.mpc.both import three_and_four
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.evaluation_views import Bits, p_of_single_bits
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike

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


pytestmark = pytest.mark.slow

AGREEING, OPPOSED, REVERSED = [[7, 0], [6, 0]], [[7, 0], [0, 6]], [[0, 7], [0, 6]]
"""The first dominates the second, neither does the other, the second dominates the first."""
THREE = ([[7, 4, 1], [6, 3, 2], [0, 1, 1]], [[1, 1, 1], [0, 5, 0], [7, 7, 6]])
RUNS = 20


@pytest.mark.parametrize(
    ("nodes", "node", "other"), [(3, 0, OPPOSED), (3, 2, REVERSED), (4, 1, REVERSED)]
)
def test_a_node_sees_nothing(nodes: int, node: int, other: list[list[int]]) -> None:
    """Neither how the objectives go together, nor what the coordinator is told."""
    p, told = p_of_same_view((AGREEING, other), Asked("order", (node,), nodes), runs=RUNS)
    assert len(told) == (1 if other is OPPOSED else 2)
    assert p > CHANCE


def test_a_node_sees_nothing_of_three_objectives() -> None:
    p, told = p_of_same_view(THREE, Asked("order", (1,)), runs=RUNS)
    assert len(told) == 2
    assert p > CHANCE


@three_and_four
def test_the_coordinator_and_a_node_see_the_labels(nodes: int) -> None:
    """The best is disclosed, and not whether it dominates the other."""
    ask = Asked("top:1", (COORDINATOR, nodes - 1), nodes)
    p, told = p_of_same_view((AGREEING, OPPOSED), ask, runs=RUNS)
    assert told == {(1, 0)}
    assert p > CHANCE


def test_the_coordinator_alone_sees_the_labels() -> None:
    assert (
        p_of_same_view((AGREEING, OPPOSED), Asked("top:1", (COORDINATOR,)), runs=RUNS)[0] > CHANCE
    )


def test_other_labels_are_seen() -> None:
    """The measure does notice what is disclosed."""
    ask = Asked("top:1", (COORDINATOR, 0))
    assert p_of_same_view((AGREEING, REVERSED), ask, runs=RUNS)[0] < SURE


def _one_order_for_all(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    order = draw_block_order(session, 1, children, label=label)
    first = np.arange(blocks)[:, None] * children
    return SecretPermutation({c: (first + p[None, :]).reshape(-1) for c, p in order.known.items()})


@three_and_four
def test_one_order_for_all_objectives_is_noticed(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pareto_score, "draw_block_order", _one_order_for_all)
    ask = Asked("order", (1,), nodes)
    assert p_of_same_view((AGREEING, OPPOSED), ask, runs=RUNS)[0] < SURE


def _no_first_order(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    order = draw_block_order(session, blocks, children, label=label)
    known = {c: p.copy() for c, p in order.known.items()}
    for permutation in known.values():
        permutation[:children] = np.arange(children)
    return SecretPermutation(known)


@three_and_four
def test_opening_the_ranks_of_the_first_objective_is_noticed(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pareto_score, "draw_block_order", _no_first_order)
    ask = Asked("order", (1,), nodes)
    assert p_of_same_view((AGREEING, REVERSED), ask, runs=RUNS)[0] < SURE


class Reused(RememberedMasks):
    """A weakened source: one mask for all rows of a shuffle."""

    def words(self, label: str, component: int, count: int) -> Words:
        found = super().words(label, component, count)
        return np.repeat(found[:1], count) if label.startswith("pareto.shuffle") else found


@three_and_four
def test_masks_that_are_used_twice_are_noticed(nodes: int) -> None:
    ask = Asked("order", (1,), nodes, Reused)
    assert p_of_same_view((AGREEING, REVERSED), ask, runs=RUNS)[0] < SURE


OTHER_VALUES = [[5, 7], [5, 6]]
"""The same front with the same values as `REVERSED`: only the dominated one differs."""


@pytest.mark.parametrize(("nodes", "other"), [(3, OPPOSED), (4, REVERSED)])
def test_a_node_sees_nothing_of_a_reveal(nodes: int, other: list[list[int]]) -> None:
    p, told = p_of_same_view((AGREEING, other), Asked("values", (1,), nodes), runs=RUNS)
    assert len(told) == 2
    assert p > CHANCE


@three_and_four
def test_the_coordinator_and_a_node_see_the_bits(nodes: int) -> None:
    """Both are non-dominated; which is better in what is not told."""
    ask = Asked("plans", (COORDINATOR, nodes - 1), nodes)
    p, told = p_of_same_view((OPPOSED, [[0, 6], [7, 1]]), ask, runs=RUNS)
    assert told == {(1, 1)}
    assert p > CHANCE


def test_the_coordinator_and_a_node_see_no_value_of_a_dominated_plan() -> None:
    ask = Asked("values", (COORDINATOR, 2))
    p, told = p_of_same_view((REVERSED, OTHER_VALUES), ask, runs=RUNS)
    assert told == {(0, 1, 7, 6)}
    assert p > CHANCE


async def _all_of_them(
    session: Session, bits: BitShare, x: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    await choose(session, bits, x, label=label)
    return x


def test_values_of_all_plans_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.mpc.disclose.front.halves.choose", _all_of_them)
    monkeypatch.setattr(front, "read_front", lambda bits, _, widths: front.Front(bits, None))
    ask = Asked("values", (COORDINATOR, 0))
    assert p_of_same_view((REVERSED, OTHER_VALUES), ask, runs=RUNS)[0] < SURE


def _no_order(session: Session, n: int, *, label: str) -> SecretPermutation:
    known = draw_order(session, n, label=label).known
    return SecretPermutation({c: np.arange(n) for c in known})


def test_ranks_in_an_order_that_is_not_secret_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "draw_order", _no_order)
    assert p_of_same_view((AGREEING, REVERSED), Asked("plans", (1,)), runs=RUNS)[0] < SURE
