"""The nodes that a series was with before: asked what they counted, and for their balances.

With three, all must be there, since nobody else vouches for what one of them gives. With four,
three suffice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tacit.engine.agreement.terms import Agreement, canonical
from tacit.engine.coordinator.node_client import NodeClient
from tacit.engine.series import Series, SignedSeries, read_series, series_hash
from tacit.engine.wire.messages import GiveBook, Request, TellHead
from tacit.engine.wire.replies import BookGiven, HeadTold, Message
from tacit.errors import MpcError, RefusedError, TacitError

R = TypeVar("R", bound=Message)
LEAST = 3
"""So many must give their books."""


@dataclass(frozen=True)
class GivenBooks:
    """What the earlier nodes gave, and the series that says who they are."""

    earlier: SignedSeries
    boxes: Mapping[int, list[bytes]] = field(default_factory=dict)
    """By earlier node, one for each later node."""

    def for_node(self, node: int, /) -> dict[int, bytes]:
        """The boxes that are for one of the later nodes."""
        return {giver: boxes[node] for giver, boxes in self.boxes.items() if node < len(boxes)}


class EarlierNodes:
    """The nodes of a series that another continues, as far as one knows a way to them."""

    def __init__(
        self, signed: SignedSeries, clients: Mapping[int, NodeClient], /, *, within: float
    ) -> None:
        self._signed, self._clients, self._within = signed, clients, within
        self._series: Series = read_series(signed.data)

    async def head(self) -> str:
        """The head that the first run of the other series has to name: enough can give it."""
        request = TellHead(series=series_hash(self._series))
        told: dict[int, HeadTold] = await self._ask(request, "told which runs were counted")
        known = [each for each in told.values() if each.head]
        if not known:
            raise MpcError("the earlier nodes know nothing of the series that is continued")
        return _common_head(known)

    async def books(
        self, agreement: Agreement, signatures: Mapping[str, bytes], series: SignedSeries, /
    ) -> GivenBooks:
        """The balances for the nodes of a run, the first of a series that continues this one."""
        request = GiveBook(
            agreement=canonical(agreement),
            signatures=dict(signatures),
            series=series.data,
            series_signatures=dict(series.signatures),
        )
        given: dict[int, BookGiven] = await self._ask(request, "gave its balances")
        return GivenBooks(self._signed, {node: each.boxes for node, each in given.items()})

    async def _ask(self, request: Request[R], what: str) -> dict[int, R]:
        """What enough of them answer; otherwise an error that names who did not, and where."""
        numbers = range(len(self._series.nodes))
        asked = (self._ask_one(node, request) for node in numbers)
        found = dict(
            zip(numbers, await asyncio.gather(*asked, return_exceptions=True), strict=True)
        )
        answers: dict[int, R] = {}
        troubles: list[BaseException] = []
        for node, each in found.items():
            if not isinstance(each, BaseException):
                answers[node] = each
            elif isinstance(each, TacitError | TimeoutError | OSError):
                troubles.append(self._named(node, each, what))
            else:
                raise each
        if len(answers) >= LEAST:
            return answers
        # A refusal stays one, so it is said first; who is away may come back.
        raise next((each for each in troubles if isinstance(each, RefusedError)), troubles[0])

    async def _ask_one(self, node: int, request: Request[R]) -> R:
        client = self._clients.get(node)
        if client is None:
            raise MpcError("no cluster in service.toml has it; add one with its certificate")
        async with asyncio.timeout(self._within):
            await client.connect()
            return await (await client.ask(request))

    def _named(self, node: int, error: BaseException, what: str) -> TacitError:
        where = self._series.nodes[node]
        name = f"node {node} of the earlier series, at {where.host}:{where.port},"
        if isinstance(error, RefusedError):
            return RefusedError(name, error.reason, kind=error.kind)
        why = str(error) or "it did not answer in time"
        return MpcError(f"{name} has not {what}: {why}")


def _common_head(told: Sequence[HeadTold]) -> str:
    """The head that most have counted or prepared, at least three; what one says alone is nothing.

    Of two heads with as many behind them the one that more have prepared is the later.
    """
    prepared = Counter(each.pending for each in told)
    behind = Counter(head for each in told for head in {each.head, each.pending})
    head = max((each.head for each in told), key=lambda head: (behind[head], prepared[head]))
    if behind[head] < LEAST:
        raise MpcError(
            f"the earlier nodes have counted different runs; no {LEAST} could give balances after "
            "the same ones, so find out whose disk was set back"
        )
    return head
