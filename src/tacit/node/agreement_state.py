"""What a node holds for one agreement: inputs, counters of evaluations, sealed searches, epochs.

Everything here is rebuilt from the agreement's folder when the node starts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.equity import run_facts
from tacit.equity import RunFacts
from tacit.errors import EngineError, LogError
from tacit.mpc import ArithmeticShare
from tacit.node.counters import Counters
from tacit.node.derivation import Derivation
from tacit.node.epoch_state import (
    PeerHeads,
    StatesOfThree,
    answers_told,
    bound_searches,
    used_numbers,
)
from tacit.node.inputs import Inputs
from tacit.node.policy import check_epoch, check_still_valid, refuse
from tacit.node.sealed_progress import KeptState, PlanBoxes, SealedProgress
from tacit.node.store import Store
from tacit.records.events import (
    AgreementEnded,
    EpochBegun,
    NodeLost,
    NodeNamed,
    NodeReturned,
    RunCounted,
)
from tacit.records.evidence import describe_suspects, read_evidence, suspects
from tacit.records.log import FreezingEvent
from tacit.records.messages import RefusalKind
from tacit.records.node_log import LineLimit
from tacit.records.peer_messages import AnswersTold, EpochBegins
from tacit.records.requests import Attempt

DUE_PART = 0.8
"""From this part of its time on a run may open its plan however few steps it has made. The rest is
for a platform whose clock began to run before the nodes'."""
BINDING_PART = 0.7
"""From this part on a node binds itself where a peer asks: clocks of peers are not the same."""


class Epochs:
    """The numbers of epochs, each used once, and what nodes tell each other when one begins."""

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
        """The node that the others went on without, once."""
        self.is_back = False
        self.evidence: list[bytes] = []
        """What proves that the node that is lost cheated, if that is why."""

    def replay(self, event: EpochBegun | NodeLost | NodeReturned) -> None:
        """Remember what the log says."""
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
        """Use up an epoch's number, on the disk: none is ever accepted twice."""
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
        """Refuse to go on without a node, unless that was agreed, and is for the first time."""
        agreement = self._store.agreement
        nodes = len(agreement.nodes)
        if agreement.on_loss != "three" or nodes != 4:
            raise refuse("going on without a node was not agreed; wait until it is back")
        if lost == me or lost >= nodes:
            raise refuse(f"the others cannot go on without node {lost}, says node {me}")
        if self.is_back or self.lost not in (None, lost):
            raise refuse("this run went on without a node before, which happens once; wait")

    def check_proven(self, lost: int, me: int, evidence: Sequence[bytes]) -> None:
        """Refuse to go on without a node, unless it is proven to us that it cheated."""
        agreement = self._store.agreement
        if lost == me or lost >= len(agreement.nodes):
            raise refuse(f"the others cannot go on without node {lost}, says node {me}")
        if self.is_back or self.lost not in (None, lost):
            raise refuse("this run went on without a node before, which happens once; wait")
        try:
            left = suspects(read_evidence(agreement, evidence))
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
        """What is used up here, and what we remember of that peer's log."""
        numbers = {k: counter.last() for k, counter in self._counters.by_objective.items()}
        bound = {k: each.opened for k, each in self._searches.items() if each.opened is not None}
        completed = 0 if self._derivation is None else await self._derivation.completed()
        log, signature = self.peers.remembered(peer), self.peers.signature_of(peer)
        bests, states = self.of_three.bests(), self.of_three.sealed()
        return EpochBegins(numbers, bound, log.size, log.head, signature, completed, bests, states)

    async def hear(self, told: Sequence[EpochBegins]) -> None:
        """Use up what peers have used up; searches that are bound here already stay as they are."""
        self._counters.adopt(used_numbers([each.numbers for each in told]))
        for search, attempt in bound_searches([each.bound for each in told]):
            if search not in self._searches:
                raise EngineError(f"a peer has opened search {search}, which does not exist")
            await self._searches[search].bind(attempt)
        self.of_three.hear(told)

    async def tell_missing(self, theirs: EpochBegins) -> AnswersTold:
        """What a peer has no answers to, as far as they are here."""
        if self._derivation is None:
            return AnswersTold([])
        return AnswersTold(await self._derivation.history(theirs.completed))

    async def hear_missing(self, told: Sequence[tuple[EpochBegins, AnswersTold]]) -> None:
        """Take over answers that peers have and we have not; each with what we had told it."""
        if self._derivation is not None:
            first, history = answers_told([(o.completed, t.history) for o, t in told])
            await self._derivation.catch_up(first, history)


class AgreementState:
    """One agreement at one node."""

    def __init__(self, store: Store, *, node: int, key: X25519PrivateKey | None) -> None:
        """`key` opens the inputs; it is gone once the agreement has ended."""
        self.store, self.agreement, self.hash = store, store.agreement, store.hash
        self.node = node
        self.ended = False
        self.counted: RunCounted | None = None
        """That the run counts for the balances of its series; its plan is not opened before."""
        store.encrypt_states(key)
        self.inputs = Inputs(store, node=node, key=key)
        self.counters = Counters(store, self.inputs)
        self.derivation: Derivation | None = None
        """The agreed search, where the nodes follow it themselves."""
        if self.agreement.search.populations == "derived":
            self.derivation = Derivation(store, self.inputs)
        sealed = self.agreement.sealed_run.groups if self.agreement.sealed else ()
        groups = [each.searches for each in sealed]
        self.searches = {group[0]: SealedProgress(store, group) for group in groups}
        """By the first search of each group."""
        self.plan_boxes = {search: PlanBoxes(store, search) for group in groups for search in group}
        """Where plans are for their owners only."""
        self.epochs = Epochs(store, self.counters, self.searches, self.derivation)
        self.trouble_lines = LineLimit(burst=1000, per_minute=60)
        """How many lines about refusals and failures a platform may cause in the log."""
        for event in store.log.recent():
            if isinstance(event, EpochBegun | NodeLost | NodeReturned):
                self.epochs.replay(event)
            elif isinstance(event, FreezingEvent):
                self.inputs.replay(event)
            elif isinstance(event, AgreementEnded):
                self.ended = True
            elif isinstance(event, RunCounted):
                self.counted = event
            else:
                self.counters.replay(event)
        if not self.ended:  # then they are gone
            self.inputs.check_frozen_files()
        self.counters.use_up_lost()

    def check_not_ended(self) -> None:
        """Refuse everything once the agreement has ended."""
        if self.ended:
            raise refuse("the agreement has ended, and its inputs are deleted; make a new one")

    def end(self, why: str) -> None:
        """Nothing is done for this agreement from now on; that comes before anything is deleted."""
        if not self.ended:
            self.store.log.append(AgreementEnded(why))
            self.store.log.sync()
            self.ended = True

    def erase(self) -> None:
        """Delete the boxes and all shares of an agreement that has ended; its log stays."""
        self.inputs.erase()
        for best in self.counters.bests.values():
            best.forget()
        for search in self.searches.values():
            search.forget()
        if self.derivation is not None:
            self.derivation.forget()
        self.store.erase_states()

    @cached_property
    def run_facts(self) -> RunFacts | None:
        """What the hooks of a run with equity take of the agreement."""
        return run_facts(self.agreement)

    def write_counted(self, event: RunCounted, /) -> None:
        """The run counts: for good, before anything of its plan leaves the node."""
        if self.counted is None:
            self.store.log.append(event)
            self.store.log.sync()
            self.counted = event

    def check_counted(self) -> None:
        """Refuse to open a plan that does not count, where balances are kept."""
        if self.agreement.equity is not None and self.counted is None:
            raise refuse("the run is not counted yet; have it counted before its plan is opened")

    def check_long_enough(
        self, search: int, attempt: Attempt, /, *, now: float, part: float = DUE_PART
    ) -> None:
        """Refuse to open the plan of an assignment after fewer steps than agreed, before it is due.

        A platform that could open a plan after the first exchanges would learn which of the few
        that are known to be possible were worth it. When the time is over a plan is opened anyway.
        """
        if not self.agreement.is_exact:
            return
        run, progress = self.agreement.sealed_run, self.group_with(search)
        assert progress is not None
        if attempt.number >= run.least_steps or progress.opened == attempt:
            return
        # An earlier state than the one that was proved may still be here, and is not the optimum.
        if progress.finished is not None and attempt.number >= progress.finished:
            return
        # Groups are solved one after the other, each in its part of the time.
        groups = [each.searches for each in run.groups]
        before = groups[: groups.index(tuple(progress.searches)) + 1]
        due = part * run.seconds * sum(map(len, before)) / len(run.weightings)
        if due and progress.started is not None and now - progress.started >= due:
            return
        raise refuse(
            f"{attempt.number} steps were made, and no plan is opened before {run.least_steps} "
            "unless the deadline has come; go on with the run",
            kind=RefusalKind.EARLY,
        )

    async def begin_open(self, search: int, attempt: Attempt, /) -> KeptState:
        """Bind this node to a state whose plan may be opened or counted now, or refuse."""
        progress = self.search(search)
        self.check_long_enough(search, attempt, now=time.time())
        return await progress.begin_open(attempt)

    def sealed_states(self) -> dict[int, list[Attempt]]:
        """Per group of searches, the attempts whose state is here, or would be handed over."""
        return {search: progress.available for search, progress in self.searches.items()}

    def search(self, number: int, /, *, goes_on: bool = False) -> SealedProgress:
        """The progress of a sealed search that may be opened, or that `goes_on`."""
        check_still_valid(self.agreement, time.time())
        progress = self.group_with(number)
        if progress is None:
            raise refuse(f"there is no sealed search {number} in this agreement")
        if goes_on and number != progress.searches[0]:
            raise refuse(f"search {number} goes on together with {progress.searches[0]}; name that")
        for objective in self.agreement.confidential():
            self.inputs.check_frozen(objective)
        return progress

    def plan_of(self, search: int, kept: KeptState, /) -> ArithmeticShare:
        """The plan of a search in the state of its group."""
        return next(
            each.plan_of(search, kept) for each in self.searches.values() if search in each.searches
        )

    def group_with(self, search: int, /) -> SealedProgress | None:
        """The progress of the searches that go on together with this one, if there is one."""
        found = (each for each in self.searches.values() if search in each.searches)
        return next(found, None)
