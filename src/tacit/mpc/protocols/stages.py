"""The stages of a shuffle: what each node does, which letters go when, and where the last ones go.

See `shuffle` for what the stages are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tacit.mpc.letters import Letter, outside
from tacit.mpc.protocols.order import SecretPermutation
from tacit.mpc.protocols.pairwise import Shape
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, Array, Share, total


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
        if not (public and stage == 0):
            for component in sorted(live - {to}):
                at = 1 + max(ready[node, component] for node in outside(nodes, to, component))
                rounds.setdefault(at, []).append(Delivery(stage, component))
                ready[to, component] = at
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
    """The letters of deliveries."""
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
        """Begin with the components of a share."""
        self.state = dict(parts)
        self.shape, self.dtype = next((p.shape, p.dtype) for p in parts.values())
        self.done = dict.fromkeys(self.session.held, 0)

    def begin_public(self, rows: Array) -> None:
        """Begin with public rows, as the component of the first stage; the others are zero."""
        first = self.path[0]
        self.public = True
        self.shape, self.dtype = rows.shape, rows.dtype
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
            rows = self.order.apply(own, rows, back=self.back)
        if component != own:
            if rows is not None:
                rows = kind.plus(rows, self._mask(stage, component))
        else:
            masks = total([self._mask(stage, m) for m in self._live(stage)], kind.plus)
            rows = kind.minus(np.zeros_like(masks) if rows is None else rows, masks)
        if rows is not None:
            self.state[component] = rows

    def after(self, stage: int, component: int) -> Array:
        """A component that this node holds, after a stage that it takes part in."""
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
        if live[0] in parts:
            parts[live[0]] = self.kind.plus(parts[live[0]], self.after(last, own))
        letters = last_letters(self.session.nodes, self.shape, self.dtype, told=told)
        contents = {k: parts[m] for k, (m, _) in enumerate(letters) if m in parts}
        arrived = await self.session.exchange([letter for _, letter in letters], contents)
        return total([*parts.values(), *arrived.values()], self.kind.plus) if told else None
