"""Oblivious shuffle in stages, its inverse, and the way back to the coordinator.

A secret order is made of one permutation p_c per component, from the key that all nodes but c have;
so no node knows all of it. In stage c every holder turns its components by p_c and masks them, with
q from the key of c:

::

    m != c   x_m <- p_c(x_m) + q_m                x_c <- p_c(x_c) - sum of all q_m

Node c cannot do that. It gets each new x_m by a letter from the nodes that hold m and know p_c.
Going back, the stages are undone in the opposite order. Letters go as soon as their senders hold
what they are made of.

*Public labels* of shuffled positions go back in the same way: they begin as the component of the
first stage, which needs no letter, and all other components as zero.

*To the coordinator*: the letters of the last stage go to it in place of node c, with x_c added to
one of them, and it adds them up. Where the nodes are *told* the rows too, each gets the letters
that it lacks, in the same round.

Learns   shuffle and inverse: nobody anything. What node c gets is masked by its stage's own key,
         which it lacks, and the masks' sum returns in the component that it does not hold.
         To the coordinator: it learns the rows at their original positions; together with one node
         nothing more, since that node lacks one of the letters, which follows from the sum
Rounds   2, with four nodes 3
Bytes    rows 16 (four nodes: 24), public labels 8 (12)
Paper    [araki2021] with three nodes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD, Letter, outside
from tacit.mpc.protocols.pairwise import Shape
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, ArithmeticShare, Array, BitShare, Share, total


@dataclass(frozen=True, slots=True)
class SecretPermutation:
    """What one node knows of a secret order: the permutations of its components."""

    known: Mapping[int, NDArray[np.intp]]

    def apply(self, component: int, rows: Array, *, back: bool) -> Array:
        """Bring rows into the order of one component's permutation, or back out of it.

        >>> order = SecretPermutation({0: np.array([2, 0, 1])})
        >>> order.apply(0, np.array([7, 8, 9]), back=False)
        array([9, 7, 8])
        >>> order.apply(0, np.array([9, 7, 8]), back=True)
        array([7, 8, 9])
        """
        permutation = self.known[component]
        if back:
            # The inverse, by scattering: cheaper than another sort.
            where = np.empty_like(permutation)
            where[permutation] = np.arange(len(permutation))
            permutation = where
        return rows.take(permutation, axis=0)  # many times as fast as an index


def draw_order(session: Session, n: int, *, label: str) -> SecretPermutation:
    """A secret order of n rows: each node draws the permutations that it may know.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return sorted(draw_order(s, 3, label="order").known)
    >>> run_parties(node).results
    [[1, 2], [0, 2], [0, 1]]
    """
    return SecretPermutation({c: session.permutation(f"{label}.p", c, n) for c in session.held})


def draw_block_order(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    """A secret order of rows that permutes each block within itself, for one joint shuffle.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return draw_block_order(s, 2, 3, label="o").known[s.held[0]].tolist()
    >>> [sorted(order[:3]) for order in run_parties(node).results]
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    first = np.arange(blocks)[:, None] * children
    known = {}
    for component in session.held:
        # As for any permutation: the order of 64-bit words under their own label.
        # One draw for all blocks; an order for each, since equal orders would link the blocks.
        words = session.words(f"{label}.p", component, (blocks, children))
        known[component] = (first + np.argsort(words, axis=1)).reshape(-1)
    return SecretPermutation(known)


def draw_group_order(session: Session, sizes: Sequence[int], *, label: str) -> SecretPermutation:
    """The same for groups that need not have one size.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return draw_group_order(s, [1, 2], label="o").known[s.held[0]].tolist()
    >>> [sorted(order[1:]) for order in run_parties(node).results]
    [[1, 2], [1, 2], [1, 2]]
    """
    if len(set(sizes)) == 1:
        return draw_block_order(session, len(sizes), sizes[0], label=label)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return SecretPermutation(
        {
            component: np.lexsort((session.words(f"{label}.p", component, len(group)), group))
            for component in session.held
        }
    )


@cache
def _path(nodes: int, back: bool) -> tuple[int, ...]:
    """The components whose stages follow each other."""
    return tuple(range(nodes))[:: -1 if back else 1]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A component as a stage of the path leaves it, for the node that lacks the stage's key."""

    stage: int
    component: int


@cache
def rounds_of(nodes: int, back: bool, public: bool) -> tuple[tuple[Delivery, ...], ...]:
    """Which letters go in which round: each as soon as all of its senders hold what it is made of.

    >>> [len(letters) for letters in rounds_of(3, False, False)]
    [3, 3]
    """
    path = _path(nodes, back)
    live = {path[0]} if public else set(path)
    ready = {(node, c): 0 for node in range(nodes) for c in range(nodes)}
    rounds: dict[int, list[Delivery]] = {}
    for stage, to in enumerate(path):
        # The first stage of public rows needs no letter: everybody knows what its node would get.
        if not (public and stage == 0):
            for component in sorted(live - {to}):
                # All senders must hold the component after this stage: with fewer, nobody would
                # vouch.
                at = 1 + max(ready[node, component] for node in outside(nodes, to, component))
                rounds.setdefault(at, []).append(Delivery(stage, component))
                ready[to, component] = at
        # The masks of a stage make its own component differ from zero.
        live.add(to)
    return tuple(tuple(rounds[at]) for at in sorted(rounds))


@cache
def inner_rounds(nodes: int, public: bool) -> tuple[tuple[Delivery, ...], ...]:
    """The rounds on the way back to the coordinator, all but the last.

    What the last stage's node would get goes to the coordinator in the end.
    """
    last = nodes - 1
    rounds = rounds_of(nodes, True, public)[:-1]
    return tuple(tuple(each for each in letters if each.stage < last) for letters in rounds)


def stage_letters(
    nodes: int, deliveries: Sequence[Delivery], back: bool, shape: Shape, dtype: np.dtype[Any]
) -> list[Letter]:
    path = _path(nodes, back)
    return [
        Letter(outside(nodes, path[each.stage], each.component), path[each.stage], shape, dtype)
        for each in deliveries
    ]


def last_letters(
    nodes: int, shape: Shape, dtype: np.dtype[Any], *, told: bool
) -> list[tuple[int, Letter]]:
    """The letters of the way back's last stage, and the component that each is about.

    To the coordinator, and where the nodes are told, to each node those that it lacks.
    """
    own = _path(nodes, True)[-1]
    components = [component for component in range(nodes) if component != own]
    # The coordinator takes the place of the node that lacks the last permutation, and adds up what
    # it gets: no node learns a row.
    to = [(m, COORDINATOR) for m in components]
    if told:
        to += [(m, own) for m in components] + [(m, m) for m in components]
    return [(m, Letter(outside(nodes, own, m), each, shape, dtype)) for m, each in to]


class Stages:
    """The components at one node on their way through the stages."""

    def __init__(
        self,
        session: Session,
        order: SecretPermutation,
        kind: type[Share],
        label: str,
        *,
        back: bool,
    ) -> None:
        self.session, self.order, self.kind, self.label = session, order, kind, label
        self.back, self.path = back, _path(session.nodes, back)
        self.state: dict[int, Array] = {}
        self.done: dict[int, int] = {}
        """How many stages a component has been through here."""
        self.public = False
        self._masks: dict[int, Array] = {}

    def begin(self, parts: Mapping[int, Array]) -> None:
        self.state = dict(parts)
        self.shape, self.dtype = next((p.shape, p.dtype) for p in parts.values())
        self.done = dict.fromkeys(self.session.held, 0)

    def begin_public(self, rows: Array) -> None:
        """Begin with public rows, as the component of the first stage; the others are zero."""
        first = self.path[0]
        self.public = True
        self.shape, self.dtype = rows.shape, rows.dtype
        # The node that lacks the first permutation holds nothing of this component.
        if first != self.session.me:
            self.state[first] = self.order.apply(first, rows, back=self.back)
        self.done = dict.fromkeys(self.session.held, 1)

    def _live(self, stage: int) -> list[int]:
        """The components that are not zero before a stage, but for the stage's own."""
        own = self.path[stage]
        live = self.path[:stage] if self.public else self.path
        return [component for component in sorted(live) if component != own]

    def _mask(self, stage: int, component: int) -> Array:
        """The mask that a stage adds to a component."""
        own, live = self.path[stage], self._live(stage)
        # One draw for all components of a stage, each with a mask of its own.
        if stage not in self._masks:
            shape = (len(live), *self.shape)
            name = f"{self.label}.q{own}"
            self._masks[stage] = self.session.words(name, own, shape, self.dtype)
        mask: Array = self._masks[stage][live.index(component)]
        return mask

    def _pass(self, stage: int, component: int) -> None:
        own, kind = self.path[stage], self.kind
        rows = self.state.get(component)
        if rows is not None:
            # Permute, then mask. Without the mask the node that lacks this permutation would find
            # its own rows again, and read the permutation off their places.
            rows = self.order.apply(own, rows, back=self.back)
        if component != own:
            if rows is not None:
                rows = kind.plus(rows, self._mask(stage, component))
        else:
            # The masks return in the component that the node without the key does not hold: the sum
            # stays, and that node cannot take them off.
            masks = total([self._mask(stage, m) for m in self._live(stage)], kind.plus)
            rows = kind.minus(np.zeros_like(masks) if rows is None else rows, masks)
        if rows is not None:
            self.state[component] = rows

    def after(self, stage: int, component: int) -> Array:
        """A component that this node holds, after a stage that it takes part in."""
        # Lazily: a node passes a component through a stage only when a letter needs it.
        while self.done[component] <= stage:
            self._pass(self.done[component], component)
            self.done[component] += 1
        return self.state[component]

    def take(self, stage: int, component: int, rows: Array) -> None:
        """What a letter brought: the component after a stage that this node takes no part in."""
        self.state[component] = rows
        self.done[component] = stage + 1

    async def deliver(self, deliveries: Sequence[Delivery]) -> None:
        """One round of letters between nodes."""
        letters = stage_letters(self.session.nodes, deliveries, self.back, self.shape, self.dtype)
        contents = {
            number: self.after(each.stage, each.component)
            for number, each in enumerate(deliveries)
            if self.session.me in letters[number].senders
        }
        for number, rows in (await self.session.exchange(letters, contents)).items():
            self.take(deliveries[number].stage, deliveries[number].component, rows)

    async def to_shares(self) -> dict[int, Array]:
        """All rounds, and the components at their end."""
        for deliveries in rounds_of(self.session.nodes, self.back, self.public):
            await self.deliver(deliveries)
        return {c: self.after(len(self.path) - 1, c) for c in self.session.held}

    async def to_coordinator(self, *, told: bool) -> Array | None:
        """All rounds, the letters of the last stage to the coordinator; what the nodes are told."""
        for deliveries in inner_rounds(self.session.nodes, self.public):
            await self.deliver(deliveries)
        last, own, live = len(self.path) - 1, self.path[-1], self._live(len(self.path) - 1)
        parts = {m: self.after(last, m) for m in live if self.session.me not in (own, m)}
        # The stage's own component goes with one letter: on its own it would be unmasked, and tell
        # the coordinator the sum of the stage's masks.
        if live[0] in parts:
            parts[live[0]] = self.kind.plus(parts[live[0]], self.after(last, own))
        letters = last_letters(self.session.nodes, self.shape, self.dtype, told=told)
        contents = {k: parts[m] for k, (m, _) in enumerate(letters) if m in parts}
        arrived = await self.session.exchange([letter for _, letter in letters], contents)
        return total([*parts.values(), *arrived.values()], self.kind.plus) if told else None


S = TypeVar("S", bound=Share)


async def shuffle(session: Session, x: S, order: SecretPermutation, *, label: str) -> S:
    """Shares of the rows in the secret order, with fresh components; columns go along.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>>
    >>> x = deal_integers([[1, 10], [2, 20]])
    >>> async def node(s):
    ...     return await shuffle(s, x[s.me], draw_order(s, 2, label="o"), label="shuffle")
    >>> sorted(reveal(run_parties(node).results).tolist())
    [[1, 10], [2, 20]]
    """
    stages = Stages(session, order, type(x), label, back=False)
    stages.begin(x.parts)
    return type(x)(await stages.to_shares())


async def unshuffle(session: Session, x: S, order: SecretPermutation, *, label: str) -> S:
    """Shares of rows of the secret order at their original positions, with fresh components.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>>
    >>> x = deal_integers([7, 8])
    >>> async def node(s):
    ...     order = draw_order(s, 2, label="o")
    ...     return await unshuffle(s, await shuffle(s, x[s.me], order, label="s"), order, label="b")
    >>> reveal(run_parties(node).results)
    array([7, 8])
    """
    stages = Stages(session, order, type(x), label, back=True)
    stages.begin(x.parts)
    return type(x)(await stages.to_shares())


async def labels_to_shares(
    session: Session,
    labels: Array,
    order: SecretPermutation,
    *,
    label: str,
    kind: type[S],
) -> S:
    """Shares of public labels of shuffled positions, in the original order.

    They are in the ring of the labels' words, or bits as narrow as a byte.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     six = np.array([6], np.uint64)
    ...     return await labels_to_shares(s, six, order, label="out", kind=ArithmeticShare)
    >>> reveal(run_parties(node).results)
    array([6])
    """
    stages = Stages(session, order, kind, label, back=True)
    stages.begin_public(labels)
    return kind(await stages.to_shares())


async def unshuffle_to_coordinator(
    session: Session, x: Share, order: SecretPermutation, *, label: str, told: bool = False
) -> Array | None:
    """A node's side of opening the rows at their original positions to the coordinator.

    Where the nodes are told as well, the rows are returned.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>>
    >>> x = deal_integers([4])
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     return await unshuffle_to_coordinator(s, x[s.me], order, label="out", told=True)
    >>> run = run_parties(node, lambda s: receive_unshuffled(s, (1,)))
    >>> run.coordinator, run.results[2]
    (array([4], dtype=uint64), array([4], dtype=uint64))
    """
    stages = Stages(session, order, type(x), label, back=True)
    stages.begin(x.parts)
    return await stages.to_coordinator(told=told)


async def labels_to_coordinator(
    session: Session, labels: Array, order: SecretPermutation, *, label: str, told: bool = False
) -> Array | None:
    """A node's side of sending the coordinator public labels in the original order.

    >>> from tacit.mpc.local import run_parties
    >>>
    >>> async def node(s):
    ...     order = draw_order(s, 2, label="o")
    ...     await labels_to_coordinator(s, np.array([6, 6], np.uint32), order, label="out")
    >>> run_parties(
    ...     node, lambda s: receive_unshuffled(s, (2,), dtype=np.uint32, xor=True)
    ... ).coordinator
    array([6, 6], dtype=uint32)
    """
    stages = Stages(session, order, BitShare, label, back=True)
    stages.begin_public(labels)
    return await stages.to_coordinator(told=told)


async def receive_unshuffled(
    session: Session, shape: Shape, *, dtype: DTypeLike = np.uint64, xor: bool = False
) -> Array:
    """The coordinator's side: the rows at their original positions.

    >>> from tacit.mpc.local import run_parties
    >>>
    >>> from tacit.mpc.shares import deal_bits
    >>> x = deal_bits(np.array([[1, 2]], dtype=np.uint8))
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     await unshuffle_to_coordinator(s, x[s.me], order, label="out")
    >>> run_parties(
    ...     node, lambda s: receive_unshuffled(s, (1, 2), dtype=np.uint8, xor=True)
    ... ).coordinator
    array([[1, 2]], dtype=uint8)
    """
    letters = last_letters(session.nodes, shape, np.dtype(dtype), told=False)
    arrived = await session.exchange([letter for _, letter in letters], {})
    return total(arrived.values(), BitShare.plus if xor else ArithmeticShare.plus)


def cost(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> Cost:
    return _cost_of(nodes, rounds_of(nodes, False, False), False, shape, dtype)


def first_letters(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> list[Letter]:
    return stage_letters(nodes, rounds_of(nodes, False, False)[0], False, shape, dtype)


def cost_back(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> Cost:
    return _cost_of(nodes, rounds_of(nodes, True, False), True, shape, dtype)


def cost_to_shares(nodes: int, n: int | Shape, dtype: np.dtype[Any] = WORD) -> Cost:
    """The cost of n public labels to shares, or of lines of such."""
    shape = (n,) if isinstance(n, int) else n
    return _cost_of(nodes, rounds_of(nodes, True, True), True, shape, dtype)


def cost_to_coordinator(
    nodes: int, shape: Shape, dtype: np.dtype[Any], *, public: bool, told: bool
) -> Cost:
    """The cost of opening rows, or public labels, at their original positions."""
    inner = _cost_of(nodes, inner_rounds(nodes, public), True, shape, dtype)
    last = [letter for _, letter in last_letters(nodes, shape, dtype, told=told)]
    return inner.then(Cost.of(nodes, last))


def _cost_of(
    nodes: int,
    rounds: Sequence[Sequence[Delivery]],
    back: bool,
    shape: Shape,
    dtype: np.dtype[Any],
) -> Cost:
    return Cost.of(nodes, *(stage_letters(nodes, each, back, shape, dtype) for each in rounds))
