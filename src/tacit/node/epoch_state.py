"""How far the peers' logs of an agreement have come, as this node heard and remembers it.

A node that comes back with less than that has lost what it has promised: which numbers are used,
what it is bound to, what it has told. It is refused. That its log contains what a peer remembers it
says itself, and signs: nodes are trusted to follow the protocol, not to have their disks intact.
Whoever remembers something shows that signature, so that nobody is blamed for what it never said.

What a node takes over from its peers when an epoch begins: what enough of them say.

Of four nodes one may lie, so two peers must say the same: that includes an honest one. What was
computed by all is known to every honest node, so nothing of it is missed; what only one peer knows
is asked for again. Three nodes trust each other, and one peer's word is enough.

States that three nodes of four have, and hand over to the fourth once it is back.

The nodes tell each other of them when an epoch of all four begins. What all peers of a node say
they have, and it has not, is handed over with the first computation that builds on it: until that
has come to its end, everybody keeps what it has, and it can be begun again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from tacit.mpc import party_name
from tacit.node.counters import BestSoFar
from tacit.node.derivation import History
from tacit.node.policy import refuse
from tacit.node.sealed_progress import SealedProgress
from tacit.node.store import Store, Stored
from tacit.records.ledger import DisclosedLabels
from tacit.records.log import NOWHERE, LogHead, has_reached
from tacit.records.node_log import head_of
from tacit.records.peer_messages import EpochBegins
from tacit.records.requests import Attempt

HOW_TO_GO_ON = (
    "put the newest copy of its data back in place, or make a new agreement; see nodes.md"
)


class StoredPeerHead(Stored, frozen=True, tag="peer head/1"):
    """What a peer said last of its log, with its signature as evidence."""

    size: int
    head: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class HeardOfLogs:
    """What a peer said when an epoch began."""

    ours: LogHead
    """How far our log has come at least, as the peer remembers it."""
    ours_signature: bytes
    """Our own, with which the peer shows that we said so."""
    theirs: LogHead
    """How far its own is."""
    signature: bytes
    contained: bool
    """Whether its own contains what we remember of it."""


_READ_HEADS = msgspec.msgpack.Decoder(dict[int, StoredPeerHead])


class PeerHeads:
    """The heads of both peers' logs, on the disk."""

    def __init__(self, store: Store, /) -> None:
        self._store = store
        self.is_reported = False
        """Whether the operator was told, since this node runs, that a log was set back."""
        self._path = store.folder / "peer-heads"
        self._kept = _READ_HEADS.decode(self._path.read_bytes()) if self._path.exists() else {}

    def remembered(self, peer: int, /) -> LogHead:
        """How far a peer's log has come at least."""
        kept = self._kept.get(peer)
        return LogHead(kept.size, kept.head) if kept is not None else NOWHERE

    def signature_of(self, peer: int, /) -> bytes:
        """The peer's own signature under what we remember of its log."""
        kept = self._kept.get(peer)
        return kept.signature if kept is not None else b""

    def own(self) -> LogHead:
        """How far our log is, on the disk."""
        return head_of(self._store.log)

    def contains(self, remembered: LogHead, /) -> bool:
        """Whether our log has come by the point that a peer remembers of it."""
        return has_reached(self._store.log.path, remembered)

    def check(self, peer: int, heard: HeardOfLogs, /, *, me: int) -> None:
        """Remember how far a peer is; refuse it, or ourselves, where a log was set back."""
        if not self.contains(heard.ours):
            if not heard.ours.is_signed(self._store.agreement, me, heard.ours_signature):
                raise refuse(
                    f"{party_name(peer)} says that this node's log had lines that it never had, "
                    "and cannot show this node's signature"
                )
            raise refuse(
                f"{party_name(peer)} remembers lines of this node's log that are not here: the "
                f"disk of this node was set back; {HOW_TO_GO_ON}"
            )
        head, before = heard.theirs, self.remembered(peer)
        if not head.is_signed(self._store.agreement, peer, heard.signature):
            raise refuse(f"{party_name(peer)} did not sign how far its log is; use its own keys")
        if not heard.contained or head.size < before.size:
            raise refuse(
                f"{party_name(peer)} has lost lines of its log that this node remembers: the disk "
                f"of {party_name(peer)} was set back; {HOW_TO_GO_ON}"
            )
        if head != before:
            self._kept = {**self._kept, peer: StoredPeerHead(head.size, head.head, heard.signature)}
            self._store.save_peer_heads(msgspec.msgpack.encode(self._kept))


Numbers = dict[int, list[tuple[int, bytes]]]
"""Per objective, used evaluation numbers with the hashes of their requests."""
_READ_ANSWER = msgspec.msgpack.Decoder(DisclosedLabels)


def _enough(peers: int) -> int:
    """How many of so many peers must say the same."""
    return max(1, peers - 1)


def used_numbers(told: Sequence[Numbers], /) -> Numbers:
    """The numbers that enough peers have used, with the requests that enough of them name.

    >>> used_numbers([{0: [(1, b"a"), (2, b"b")]}, {0: [(1, b"a")]}, {0: [(1, b"x"), (99, b"")]}])
    {0: [(1, b'a')]}
    """
    enough, found = _enough(len(told)), Numbers()
    for objective in sorted({k for each in told for k in each}):
        said: dict[int, Counter[bytes]] = {}
        for each in told:
            for number, request in dict(each.get(objective, [])).items():
                said.setdefault(number, Counter())[request] += 1
        found[objective] = [
            (number, _named(requests, enough))
            for number, requests in sorted(said.items())
            if requests.total() >= enough
        ]
    return {objective: numbers for objective, numbers in found.items() if numbers}


def _named(requests: Counter[bytes], enough: int) -> bytes:
    named = (request for request, votes in requests.most_common() if request and votes >= enough)
    return next(named, b"")


def bound_searches(told: Sequence[Mapping[int, Attempt]], /) -> list[tuple[int, Attempt]]:
    """The sealed searches of which enough peers are bound to a plan.

    >>> bound_searches([{0: Attempt("7:1:0")}, {}, {0: Attempt("9:1:0")}])
    []
    """
    votes = Counter((search, attempt) for each in told for search, attempt in each.items())
    return [claim for claim, count in votes.items() if count >= _enough(len(told))]


def answers_told(told: Sequence[tuple[int, History]], /) -> tuple[int, History]:
    """What enough peers know of populations, and how many come before the first of them.

    Each tells what came after a number of populations.

    >>> one, other = DisclosedLabels([1, 0]), DisclosedLabels([0, 1])
    >>> answers_told([(4, [{0: one}]), (4, [{0: other}]), (4, [])])
    (4, [])
    """
    enough = _enough(len(told))
    said: dict[int, dict[int, Counter[bytes]]] = {}
    for first, history in told:
        for number, answers in enumerate(history, start=first):
            for objective, answer in answers.items():
                votes = said.setdefault(number, {}).setdefault(objective, Counter())
                votes[msgspec.msgpack.encode(answer)] += 1
    first = number = min((first for first, _ in told), default=0)
    found: History = []
    while number in said:
        agreed = {
            objective: _READ_ANSWER.decode(answer)
            for objective, votes in sorted(said[number].items())
            for answer, count in votes.most_common(1)
            if count >= enough
        }
        if not agreed:
            break
        found.append(agreed)
        number += 1
    return first, found


SETTLE_SECONDS = 1.0
"""So long a computation under way may take to leave its state."""

Names = dict[int, list[Attempt]]
"""Per objective, or per sealed search, the attempts that states come from."""


class StatesOfThree:
    """The states that the computations of one agreement build on, by who has them."""

    def __init__(
        self,
        bests: Mapping[int, BestSoFar],
        searches: Mapping[int, SealedProgress],
        /,
        *,
        nodes: int,
    ) -> None:
        self._bests, self._searches, self._nodes = bests, searches, nodes

    def bests(self) -> Names:
        """Per objective, what three nodes have, as one of them says."""
        return {k: best.of_three for k, best in self._bests.items() if best.of_three}

    def sealed(self) -> Names:
        """Per sealed search, what three nodes have, as one of them says."""
        return {k: each.of_three for k, each in self._searches.items() if each.of_three}

    async def settled(self) -> None:
        """Let what three nodes compute now leave its state, so that all of them tell of it."""
        states: list[BestSoFar | SealedProgress] = [*self._bests.values()]
        for each in [*states, *self._searches.values()]:
            if each.of_three:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SETTLE_SECONDS), each.computing:
                        pass

    def hear(self, told: Sequence[EpochBegins], /) -> None:
        """Take note of what all peers have and we have not."""
        everybody = len(told) == self._nodes - 1
        for k, best in self._bests.items():
            said = [each.bests_of_three.get(k, []) for each in told]
            best.from_peers = _missing(best.kept, said) if everybody else []
        for k, search in self._searches.items():
            said = [each.states_of_three.get(k, []) for each in told]
            search.from_peers = _missing(search.names, said) if everybody else []


def _missing(own: Sequence[Attempt], said: Sequence[list[Attempt]]) -> list[Attempt]:
    """What all peers say they have, and is not here.

    >>> _missing([], [[Attempt("7:1:0"), Attempt("6:1:0")], [Attempt("7:1:0")]])
    ['7:1:0']
    """
    common = set.intersection(*map(set, said)) if said else set[Attempt]()
    return sorted(common - set(own))
