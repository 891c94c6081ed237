"""Keep what a node knows of epochs, and take over what its peers know when one begins.

An epoch is the time between two key exchanges. When one begins, each node sends the others what it
has used up, and how far their logs have come as it remembers. Three things follow:

- A peer that comes back with less of its log than this node remembers has lost what it promised:
  which numbers are used, what it is bound to, what it has disclosed. It is refused (`PeerHeads`).
  A node itself says that its log contains what a peer remembers, and signs it: nodes are trusted to
  follow the protocol, not to have their disks intact. A peer shows that signature with what it
  remembers, so that nobody is blamed for what it never said.
- This node takes over what enough peers say. Of four nodes one may lie, so two peers must say the
  same: that includes an honest one. All honest nodes know what all nodes computed, so nothing of it
  is missed; what only one peer knows is requested again. Three nodes trust each other, and the word
  of one peer is enough.
- States that three nodes of four have go back to the fourth (`StatesOfThree`), with the first
  computation that builds on them. Until that has ended, everybody keeps what it has, so that it can
  be begun again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from tacit.errors import AbortError, LogError
from tacit.mpc import party_name
from tacit.node.counters import BestSoFar, Counters
from tacit.node.derivation import Derivation, History
from tacit.node.policy import check_epoch, refuse
from tacit.node.sealed_progress import SealedProgress
from tacit.node.store import Store, Stored, decoder_of, encode_stored
from tacit.records.ballots import Phase, Poll
from tacit.records.events import EpochBegun, NodeLost, NodeNamed, NodeReturned
from tacit.records.evidence import describe_suspects, read_evidence, suspects
from tacit.records.ledger import DisclosedLabels
from tacit.records.log import NOWHERE, LogHead, has_reached
from tacit.records.node_log import head_of
from tacit.records.peer_messages import AnswersTold, EpochBegins
from tacit.records.requests import Attempt

HOW_TO_GO_ON = (
    "put the newest copy of its data back in place, or make a new agreement; see nodes.md"
)


class StoredPeerHead(Stored, frozen=True, tag="peer head/1"):
    """How far a peer's log was when it last said so, with its signature as evidence."""

    head: LogHead
    signature: bytes


_READ_HEADS = decoder_of(dict[int, StoredPeerHead])
_UNKNOWN = StoredPeerHead(NOWHERE, b"")


@dataclass(frozen=True, slots=True)
class HeardOfLogs:
    """What a peer said when an epoch began."""

    ours: LogHead
    """How far this node's log has come at least, as the peer remembers it."""
    ours_signature: bytes
    """This node's signature, with which the peer shows that it said so."""
    theirs: LogHead
    """How far the peer's own log is."""
    signature: bytes
    contained: bool
    """Whether the peer's log contains what this node remembers of it."""


class PeerHeads:
    """The heads of the peers' logs, on the disk."""

    def __init__(self, store: Store, /) -> None:
        self._store = store
        self.is_reported = False
        """Whether the node's own log says, since its start, that a log was set back."""
        self._path = store.folder / "peer-heads"
        self._kept = _READ_HEADS.decode(self._path.read_bytes()) if self._path.exists() else {}

    def remembered(self, peer: int, /) -> StoredPeerHead:
        """How far a peer's log has come at least, with its own signature."""
        return self._kept.get(peer, _UNKNOWN)

    def own(self) -> LogHead:
        return head_of(self._store.log)

    def contains(self, remembered: LogHead, /) -> bool:
        """Whether this node's log has come by the point that a peer remembers of it."""
        return has_reached(self._store.log.path, remembered)

    def check(self, peer: int, heard: HeardOfLogs, /, *, me: int) -> None:
        """Remember how far a peer's log is; refuse where this node's was set back.

        What is wrong with a peer's is its failure, and no refusal of this node: of four nodes, one
        that lies could have the three others refuse otherwise.

        A node whose disk was restored from a copy has forgotten which numbers it used, and would
        answer other requests under them.
        """
        if not self.contains(heard.ours):
            # Without the signature a lying peer could shut out this node for ever.
            if not heard.ours.is_signed(self._store.agreement, me, heard.ours_signature):
                raise AbortError(
                    party_name(peer),
                    "says that this node's log had lines that it never had, and cannot show this "
                    "node's signature",
                )
            raise refuse(
                f"{party_name(peer)} remembers lines of this node's log that are not here: the "
                f"disk of this node was set back; {HOW_TO_GO_ON}"
            )
        head, before = heard.theirs, self.remembered(peer).head
        if not head.is_signed(self._store.agreement, peer, heard.signature):
            raise AbortError(party_name(peer), "did not sign how far its log is; use its own keys")
        if not heard.contained or head.size < before.size:
            raise AbortError(
                party_name(peer),
                "has lost lines of its log that this node remembers: its disk was set back; "
                f"{HOW_TO_GO_ON}",
            )
        if head != before:
            self._kept = {**self._kept, peer: StoredPeerHead(head, heard.signature)}
            self._store.save_peer_heads(encode_stored(self._kept))


Numbers = dict[int, list[tuple[int, bytes]]]
"""Per objective, used evaluation numbers with the hashes of their requests."""
_READ_ANSWER = msgspec.msgpack.Decoder(DisclosedLabels)


def _enough(peers: int) -> int:
    """How many of so many peers must say the same: one of three nodes, two of four."""
    return max(1, peers - 1)


def used_numbers(claims: Sequence[Numbers], /) -> Numbers:
    """The numbers that enough peers have used, with the requests that enough of them name.

    >>> used_numbers([{0: [(1, b"a"), (2, b"b")]}, {0: [(1, b"a")]}, {0: [(1, b"x"), (99, b"")]}])
    {0: [(1, b'a')]}
    """
    enough, used = _enough(len(claims)), Numbers()
    for objective in sorted({k for claim in claims for k in claim}):
        votes: dict[int, Counter[bytes]] = {}
        for claim in claims:
            for number, request in dict(claim.get(objective, [])).items():
                votes.setdefault(number, Counter())[request] += 1
        used[objective] = [
            (number, _agreed_request(requests, enough))
            for number, requests in sorted(votes.items())
            if requests.total() >= enough
        ]
    return {objective: numbers for objective, numbers in used.items() if numbers}


def _agreed_request(requests: Counter[bytes], enough: int) -> bytes:
    agreed = (request for request, votes in requests.most_common() if request and votes >= enough)
    return next(agreed, b"")


def common_answers(claims: Sequence[tuple[int, History]], /) -> tuple[int, History]:
    """The answers on which enough peers agree, and how many populations come before the first.

    Each peer gives the answers that came after a number of populations.

    >>> one, other = DisclosedLabels([1, 0]), DisclosedLabels([0, 1])
    >>> common_answers([(4, [{0: one}]), (4, [{0: other}]), (4, [])])
    (4, [])
    """
    enough = _enough(len(claims))
    votes: dict[int, dict[int, Counter[bytes]]] = {}
    for first, history in claims:
        for number, answers in enumerate(history, start=first):
            for objective, answer in answers.items():
                counted = votes.setdefault(number, {}).setdefault(objective, Counter())
                counted[msgspec.msgpack.encode(answer)] += 1
    first = number = min((first for first, _ in claims), default=0)
    common: History = []
    while number in votes:
        agreed = {
            objective: _READ_ANSWER.decode(answer)
            for objective, counted in sorted(votes[number].items())
            for answer, count in counted.most_common(1)
            if count >= enough
        }
        # The next population follows from this one, so nothing after a gap is of use.
        if not agreed:
            break
        common.append(agreed)
        number += 1
    return first, common


SETTLE_SECONDS = 1.0
"""So long a computation under way may take to leave its state."""

Names = dict[int, list[Attempt]]
"""Per objective, or per sealed search, the attempts that states come from."""


class StatesOfThree:
    """The states of one agreement that three nodes of four have."""

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
        return {k: best.of_three for k, best in self._bests.items() if best.of_three}

    def sealed(self) -> Names:
        return {k: each.of_three for k, each in self._searches.items() if each.of_three}

    async def settled(self) -> None:
        """Wait until what three nodes compute now has left its state, so that all name it."""
        states: list[BestSoFar | SealedProgress] = [*self._bests.values()]
        for each in [*states, *self._searches.values()]:
            if each.of_three:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SETTLE_SECONDS), each.computing:
                        pass

    def hear(self, claims: Sequence[EpochBegins], /) -> None:
        """Note which states all peers have and this node has not: they hand these over."""
        everybody = len(claims) == self._nodes - 1
        for k, best in self._bests.items():
            named = [claim.bests_of_three.get(k, []) for claim in claims]
            best.from_peers = _missing(best.kept, named) if everybody else []
        for k, search in self._searches.items():
            named = [claim.states_of_three.get(k, []) for claim in claims]
            search.from_peers = _missing(search.names, named) if everybody else []


def _missing(own: Sequence[Attempt], named: Sequence[list[Attempt]]) -> list[Attempt]:
    """The attempts that all peers name, and of which nothing is here.

    >>> _missing([], [[Attempt("7:1:0"), Attempt("6:1:0")], [Attempt("7:1:0")]])
    ['7:1:0']
    """
    common = set.intersection(*map(set, named)) if named else set[Attempt]()
    return sorted(common - set(own))


class Epochs:
    """The epochs of one agreement: their numbers, who takes part, what nodes exchange first."""

    def __init__(
        self,
        store: Store,
        counters: Counters,
        searches: dict[int, SealedProgress],
        derivation: Derivation | None,
    ) -> None:
        self._store, self._counters, self._searches = store, counters, searches
        self._derivation = derivation
        self.peers = PeerHeads(store)
        nodes = len(store.agreement.nodes)
        self.of_three = StatesOfThree(counters.bests, searches, nodes=nodes)
        self.last = -1
        self.lost: int | None = None
        """The node that the others went on without; that happens once per run."""
        self.is_back = False
        self.evidence: list[bytes] = []
        """What proves that the node that is lost cheated, if that is why."""

    def replay(self, event: EpochBegun | NodeLost | NodeReturned) -> None:
        """Restore the state from a line of the log, when the node starts."""
        match event:
            case EpochBegun():
                self.last = max(self.last, event.number)
            case NodeLost():
                self.lost = event.node
                if isinstance(event, NodeNamed):
                    self.evidence = [bytes.fromhex(each) for each in event.evidence]
            case NodeReturned():
                self.is_back = True

    def begin(self, number: int) -> None:
        """Use up an epoch's number, on the disk.

        Attempts are named after their epoch. If a number came twice, even after a power cut, two
        attempts could have one name, and their shares do not fit together.
        """
        check_epoch(number, self.last)
        self._store.log.append(EpochBegun(number))
        self._store.log.sync()
        self.last = number

    def opened(self, number: int, without: int | None, evidence: Sequence[bytes] = ()) -> None:
        """Write down who takes part from now on, where that has changed."""
        event: NodeLost | NodeReturned
        if without is not None and evidence and not self.evidence:
            event = NodeNamed(number, without, [each.hex() for each in evidence])
        elif without is not None and self.lost is None:
            event = NodeLost(number, without)
        elif without is None and self.lost is not None and not self.is_back:
            event = NodeReturned(number, self.lost)
        else:
            return
        self._store.log.append(event)
        self._store.log.sync()
        self.replay(event)

    def check_without(self, lost: int, me: int) -> None:
        agreement = self._store.agreement
        if agreement.on_loss != "three" or len(agreement.nodes) != 4:
            raise refuse("going on without a node was not agreed; wait until it is back")
        self._check_first_loss(lost, me)

    def _check_first_loss(self, lost: int, me: int) -> None:
        if lost == me or lost >= len(self._store.agreement.nodes):
            raise refuse(f"the others cannot go on without node {lost}, says node {me}")
        # A lost node may come back; after that the run waits for whoever is missing.
        if self.is_back or self.lost not in (None, lost):
            raise refuse("this run went on without a node before, which happens once; wait")

    def check_proven(self, lost: int, me: int, evidence: Sequence[bytes]) -> None:
        """Refuse to go on without a node, unless the evidence proves that it cheated."""
        self._check_first_loss(lost, me)
        try:
            left = suspects(read_evidence(self._store.agreement, evidence))
        except LogError as error:
            raise refuse(str(error)) from None
        if left != {lost}:
            raise refuse(f"that proves nothing about node {lost} alone: {describe_suspects(left)}")

    def check_signs(self) -> None:
        """Refuse to sign once three nodes have computed: nobody checked what they left.

        One of them may have lied unnoticed, so that honest nodes contradict each other since.
        """
        if self.lost is not None:
            raise refuse("three nodes computed for a while, unchecked; nothing is signed since")

    def check_all_can_go_on(self) -> None:
        """Refuse to let a lost node back in that cheated."""
        if self.evidence:
            raise refuse(f"node {self.lost} is proven to have cheated; it takes no part any more")

    async def tell(self, peer: int) -> EpochBegins:
        """What is used up here, and what this node remembers of that peer's log."""
        numbers = {k: counter.last() for k, counter in self._counters.by_objective.items()}
        decided = {k: each.decided_by for k, each in self._searches.items() if each.decided_by}
        completed = 0 if self._derivation is None else await self._derivation.completed()
        known, states = self.peers.remembered(peer), self.of_three
        return EpochBegins(
            numbers, decided, known.head.size, known.head.head, known.signature, completed,
            states.bests(), states.sealed(),
        )  # fmt: skip

    async def hear(self, claims: Sequence[EpochBegins]) -> None:
        """Use up what peers have used up, and note which plans they have seen decided."""
        self._counters.adopt(used_numbers([claim.numbers for claim in claims]))
        for claim in claims:
            for search, votes in claim.decided.items():
                await self._hear_decided(search, votes)
        self.of_three.hear(claims)

    async def _hear_decided(self, search: int, votes: Sequence[bytes]) -> None:
        """Take over which state is opened, if the votes are proof of it; else they say nothing."""
        progress = self._searches.get(search)
        if progress is None or progress.decided is not None:
            return
        with suppress(LogError):
            poll = Poll.read(self._store.agreement, progress.subject, votes)
            found = poll.decided()
            if found is not None:
                await progress.decide(Attempt(found[1]), poll.signed_by(Phase.BOUND, *found))

    async def tell_missing(self, theirs: EpochBegins) -> AnswersTold:
        if self._derivation is None:
            return AnswersTold([])
        return AnswersTold(await self._derivation.history(theirs.completed))

    async def hear_missing(self, received: Sequence[tuple[EpochBegins, AnswersTold]]) -> None:
        """Take over answers that peers have and this node lacks.

        Each comes with what this node had sent to that peer, which its answers follow.
        """
        if self._derivation is not None:
            claims = [(ours.completed, theirs.history) for ours, theirs in received]
            first, history = common_answers(claims)
            await self._derivation.catch_up(first, history)
