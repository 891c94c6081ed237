"""The coordinator of a run: asks the nodes, puts their answers together, tries again.

An attempt fails as a whole as soon as one node fails, and the next one begins with fresh keys.
Whatever happens, the caller hears by the instant `until`, and hears the name of the node that is
to blame as far as anybody can tell.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement import SignedSeries
from tacit.agreement.sealing import SealedRows
from tacit.agreement.terms import Agreement, agreement_hash, canonical
from tacit.coordinator.membership import Loss, Naming, Watch, enough_of
from tacit.coordinator.node_client import NodeClient, end_at_nodes, fetched_log
from tacit.coordinator.voting import PAUSE_SECONDS, Election
from tacit.errors import (
    AbortError,
    LoneRefusalError,
    MpcError,
    PeerError,
    PeerTimeoutError,
    RefusedError,
)
from tacit.mpc import CLUSTER_SIZES, COORDINATOR, Session, open_session
from tacit.records.ballots import Subject, SubjectKind
from tacit.records.ledger import Disclosed, Parts, Payload
from tacit.records.log import Log, verify_log
from tacit.records.messages import (
    Agree,
    AgreementTaken,
    Computation,
    CountRun,
    End,
    EpochOpened,
    FetchLog,
    Freeze,
    LogPage,
    Message,
    OpenEpoch,
    Prepare,
    RefusalKind,
    Request,
    Submit,
    attempt_of,
    context_of,
)
from tacit.records.recording_mux import RecordingMux
from tacit.records.requests import NO_ATTEMPT, Attempt

T = TypeVar("T")
R = TypeVar("R", bound=Message)
P_co = TypeVar("P_co", covariant=True)

GIVE_UP_SECONDS = 30.0
"""Without a deadline, the caller gets an error so long after the first failure."""
LONGEST_PAUSE_SECONDS = 1.0
"""The longest pause between attempts while one of four nodes refuses."""
BEYOND_ALL_LINES = 1 << 62
"""From there on no log has lines."""
_NEVER = 86400.0


@dataclass(frozen=True, slots=True)
class Answered(Generic[P_co, R]):
    """A computation that the nodes have answered: what it disclosed, and what proves it.

    The payload is there as soon as all parts are. Each node replies once it has logged its part and
    keeps what the next computation builds on.
    """

    payload: P_co
    request: bytes
    """The hash that names the request."""
    attempt: Attempt
    replies: list[asyncio.Future[R]]
    parts: Parts
    rounds: int
    without: int | None
    """The node that the others went on without."""
    unchecked: bool
    """Whether all nodes computed it, and what it builds on was left by three."""

    @property
    def number(self) -> int:
        return self.attempt.number

    def entry(
        self: Answered[Payload | None, R], about: int, /, *, again: bool = False
    ) -> Disclosed:
        """Return the ledger's entry, about an objective or a sealed search."""
        if self.payload is None:
            raise ValueError("a computation that discloses nothing has no entry")
        return Disclosed(
            about,
            self.attempt,
            self.request.hex(),
            self.payload,
            self.parts,
            again,
            self.without,
            self.unchecked,
        )


class Coordinator:
    """Talks to the nodes of one agreement."""

    def __init__(
        self, agreement: Agreement, clients: Iterable[NodeClient], /, *, fence: int = 0
    ) -> None:
        """`fence` is higher than that of any process of the platform that had the run before."""
        self.agreement, self.hash, self.fence = agreement, agreement_hash(agreement), fence
        self.clients = tuple(clients)
        self.numbers: dict[int, int] = dict.fromkeys(agreement.confidential(), 0)
        """Per objective, the last number that counts as used."""
        self.parent_attempts: dict[int, Attempt] = {}
        """Per objective, the attempt that all nodes' shares of the best so far come from."""
        self.states: dict[int, list[Attempt]] = {}
        """Per sealed search, the attempts whose state all nodes keep."""
        self.kept: dict[int, list[list[Attempt]]] = {}
        """Per objective, the attempts that each node had shares of when the epoch began."""
        self.public_weights: dict[int, bytes] = {}
        """Per public objective, where the nodes derive the populations."""
        self.loss = Loss(agreement, self.clients)
        self.naming = Naming(agreement)
        self._elections: dict[int, Election] = {}
        """Per objective, the ballots on its inputs."""
        self._frozen: set[int] = set()
        """The objectives whose inputs a node said to be frozen."""
        self._watch = Watch(self.clients, self.loss, self.naming)
        self._epoch: int | None = None
        self._last_epoch = 0
        self._opening = asyncio.Lock()
        self._attempts = 0

    # Set-up.

    def give_public(self, weights: Mapping[int, NDArray[np.int64]], /) -> None:
        """Keep the weights of public objectives, which nodes need to follow the search."""
        if self.agreement.search.populations == "derived":
            self.public_weights = {k: w.astype("<i8").tobytes() for k, w in weights.items()}

    async def start(
        self, signatures: Mapping[str, bytes], sealed: Iterable[SealedRows], /, *, within: float
    ) -> None:
        """Hand over the agreement and the sealed rows, and have the inputs checked and frozen."""
        # In this order: a node takes rows for agreements that it knows, and checks them once all
        # are there.
        taken = await self.start_agreement(signatures, within=within)
        for rows in sealed:
            await self.ask_all(partial(self.submission, rows), within=within)
        for objective in self.agreement.confidential():
            if not all(objective in each.frozen for each in taken):
                until = asyncio.get_running_loop().time() + within
                await self.prepare(objective, until=until)

    async def start_agreement(
        self,
        signatures: Mapping[str, bytes],
        /,
        *,
        within: float,
        series: SignedSeries | None = None,
        resumes: bool = False,
    ) -> list[AgreementTaken]:
        """Connect and hand over the agreement, with the series that it is a run of.

        A run that `resumes` does with three of four nodes: one must not be able to end it.
        """
        until = asyncio.get_running_loop().time() + within
        await self.persist(partial(self.loss.connect, everybody=not resumes), until=until)
        request = Agree(
            agreement=canonical(self.agreement),
            signatures=dict(signatures),
            public_weights=self.public_weights,
            series=b"" if series is None else series.data,
            series_signatures={} if series is None else dict(series.signatures),
        )
        if resumes:
            answers = [each.answer(request, fence=self.fence) for each in self.loss.members]
            taken = await enough_of(list(map(asyncio.ensure_future, answers)), within=within)
        else:
            taken = await self.ask_all(lambda _: request, within=within)
        self._last_epoch = max(self._last_epoch, _confirmed(each.epoch for each in taken))
        self._frozen = {objective for each in taken for objective in each.frozen}
        self._learn_states([each.states for each in taken])
        self.examine([each for one in taken for each in one.evidence])
        return taken

    def submission(self, rows: SealedRows, client: NodeClient, /) -> Submit:
        return Submit(
            agreement=self.hash,
            manifest=rows.manifest,
            signature=rows.signature,
            box=rows.boxes[client.number],
        )

    async def prepare(self, objective: int, /, *, until: float) -> None:
        """Have an objective's inputs compared and checked, decided on by ballots, and frozen."""
        election = self._elections.get(objective)
        if election is None:
            subject = Subject(SubjectKind.INPUTS, objective)
            election = Election(self, subject, voters=lambda: self.loss.members)
            self._elections[objective] = election

        async def once() -> None:
            self._check_nobody_named()
            epoch = await self.epoch(everybody=True)
            # What is frozen anywhere was decided on, and is shown by locks: a node that missed the
            # end comes to the same without another check.
            value = await election.locked() if objective in self._frozen else None
            if value is None:
                value = await self._check_inputs(objective, epoch)
            decision = await election.decide(value, until=until)
            request = Freeze(
                agreement=self.hash,
                objective=objective,
                votes=decision.votes,
                epoch=epoch,
                attempt=self.new_attempt(),
            )
            try:
                await self.replies(await self.attempt(request, b"freeze", _nothing))
            except RefusedError as error:
                if error.kind != RefusalKind.ABSENT:
                    raise
                # The third of three nodes is there and could not vote, as on a full disk for a
                # moment. Inputs are frozen by all nodes, so it is asked again.
                raise PeerTimeoutError("the nodes", error.reason) from None

        async def unless_rows_are_missing() -> None:
            try:
                await once()
            except LoneRefusalError as error:
                # A node gets rows again on its word. That anybody seals others takes two.
                if error.refusal.kind in (RefusalKind.MISSING, RefusalKind.DIFFERS):
                    raise error.refusal from None
                raise

        await self.persist(unless_rows_are_missing, until=until)

    def _check_nobody_named(self) -> None:
        """Refuse to prepare inputs with a node that is proven to lie: all nodes prepare them."""
        if self.loss.is_proven:
            what = "inputs are prepared by all nodes; make a new agreement without that one"
            raise RefusedError("the nodes", f"{self.naming.words}; {what}")

    async def _check_inputs(self, objective: int, epoch: int) -> str:
        """Return what the nodes have checked and are willing to freeze: of four, what three say."""
        request = Prepare(
            agreement=self.hash, objective=objective, epoch=epoch, attempt=self.new_attempt()
        )
        replies = await self.replies(await self.attempt(request, b"prepare", _nothing))
        (value, votes), *_ = Counter(each.value for each in replies).most_common(1)
        if votes < len(self.clients) - 1:
            raise AbortError("the nodes", "have checked different inputs")
        return value

    async def ask_all(
        self, make: Callable[[NodeClient], Request[R]], /, *, within: float
    ) -> list[R]:
        """Ask all nodes the same; a refusal of one is the answer."""
        async with asyncio.timeout(within):
            futures = [await client.ask(make(client), fence=self.fence) for client in self.clients]
            return list(await asyncio.gather(*futures))

    async def fetch_logs_of_members(self) -> list[Log]:
        """Fetch and check the logs of those that compute; of four, one that sends none is left out.

        It may lie, and nobody else could resume the run then.
        """
        asking = [
            asyncio.ensure_future(_checked_log(client, self.hash)) for client in self.loss.members
        ]
        return await enough_of(asking, within=GIVE_UP_SECONDS)

    async def fetch_logs(self, nonce: bytes = b"", /) -> list[LogPage]:
        """Fetch the nodes' logs of this agreement, each signed for whoever drew the nonce."""
        async with asyncio.timeout(GIVE_UP_SECONDS):
            logs = [fetched_log(client, self.hash, nonce) for client in self.clients]
            return list(await asyncio.gather(*logs))

    async def fetch_heads(self, nonce: bytes, /) -> list[LogPage]:
        """Fetch the signed heads of the logs without their lines."""
        request = FetchLog(agreement=self.hash, offset=BEYOND_ALL_LINES, nonce=nonce)
        return await self.ask_all(lambda _: request, within=GIVE_UP_SECONDS)

    async def end_agreement(self, *, within: float) -> None:
        """Have all nodes delete the inputs and what became of them; their logs stay.

        Raises if a node does not confirm, after all were asked.
        """
        over = End(agreement=self.hash, nonce=self.agreement.nonce)
        await end_at_nodes(self.clients, over, within=within)

    # Epochs and attempts.

    async def epoch(self, *, everybody: bool = False) -> int:
        """Return the current epoch, or open one: the first, after a break, or with a lost node.

        Where all nodes must take part, none is done without.
        """
        # Objectives are evaluated side by side. Two that find the link broken must not open two
        # epochs.
        async with self._opening:
            if self.loss.is_back:
                # Only between attempts, and with fresh keys for all four: nothing of the three's
                # epoch may be used with it.
                lost, self._epoch = self.loss.let_in(), None
                try:
                    return await self._open_epoch(everybody=True)
                except (RefusedError, MpcError):
                    self.loss.keep_out(lost)
            members = self.loss.members
            if self._epoch is None or not all(client.connected for client in members):
                self._epoch = None
                return await self._open_epoch(everybody=everybody)
            return self._epoch

    async def _open_epoch(self, *, everybody: bool) -> int:
        before = self.loss.without
        # This decides who takes part, so it comes before the epoch is named.
        await self.loss.connect(everybody=everybody)
        number, without = self._next_epoch(), self.loss.without
        evidence = self.naming.evidence if self.loss.is_proven else []
        request = OpenEpoch(agreement=self.hash, epoch=number, without=without, evidence=evidence)
        asked = [await client.ask(request, fence=self.fence) for client in self.loss.members]
        try:
            replies = await self.watch(asyncio.gather(*asked), asked)
        except RefusedError as error:
            if without is None or without == before:
                raise
            # A node still reaches the one that we do not. A platform that cuts off its own link
            # must not get four nodes down to three.
            self.loss.is_not_gone()
            raise PeerError(error.node, error.reason) from error
        self._learn(replies)
        self._epoch = number
        self.loss.opened(reply.lost for reply in replies)
        return number

    def _learn(self, replies: list[EpochOpened]) -> None:
        """Take over what all nodes have evaluated and keep."""
        for k in self.numbers:
            # A number is used as soon as one node says so: nobody evaluates two requests under one
            # number. Of four one may lie, and leave the others no number that they would take.
            highest = _confirmed(reply.numbers.get(k, 0) for reply in replies)
            self.numbers[k] = max(self.numbers[k], highest)
            self.kept[k] = [reply.kept.get(k, []) for reply in replies]
            parents = {reply.parent_attempts.get(k, NO_ATTEMPT) for reply in replies}
            if len(parents) == 1:
                self.parent_attempts.setdefault(k, parents.pop())
        self._learn_states([reply.states for reply in replies])

    def _learn_states(self, said: Sequence[Mapping[int, list[Attempt]]]) -> None:
        for search in {search for states in said for search in states}:
            self.states[search] = _common([set(states.get(search, [])) for states in said])

    def end_epoch(self) -> None:
        """Begin the next attempt with new keys, since this one did not come to its end."""
        self._epoch = None

    def _next_epoch(self) -> int:
        # Nodes take numbers that grow only, also those of a coordinator that starts again after
        # a crash: so the clock.
        self._last_epoch = max(self._last_epoch + 1, time.time_ns())
        return self._last_epoch

    def new_attempt(self) -> int:
        self._attempts = (self._attempts + 1) % (1 << 16)
        return self._attempts

    async def attempt(
        self, request: Computation[R], digest: bytes, receive: Callable[[Session], Awaitable[T]], /
    ) -> Answered[T, R]:
        """One attempt: ask all nodes and receive what they send; the replies may come later.

        `digest` is the hash that names the request.
        """
        members = self.loss.members
        request = msgspec.structs.replace(request, signed=self._signs)
        # New ones for each attempt: parts of an attempt that failed prove nothing and must not be
        # mixed in.
        records = {at: RecordingMux(client.mux) for at, client in enumerate(members)}
        context = context_of(request, digest)
        asked: list[asyncio.Future[R]] = []
        try:
            async with open_session(
                context, me=COORDINATOR, muxes=records, epoch=None, timeout=_NEVER
            ) as session:
                for client in members:
                    asked.append(await client.ask(request, fence=self.fence))
                result = await self.watch(asyncio.ensure_future(receive(session)), asked)
        except BaseException:
            # Masks of this epoch may have been used in part. No other attempt may use them.
            if self._epoch == request.epoch:
                self._epoch = None
            await self.cancel(asked)
            raise
        received = {client.number: records[at].received() for at, client in enumerate(members)}
        without = self.loss.without
        builds_on = getattr(request, "parent_attempt", NO_ATTEMPT)
        return Answered(
            result,
            digest,
            attempt_of(request),
            asked,
            [received.get(client.number, []) for client in self.clients],
            session.depth,
            without,
            unchecked=bool(builds_on) and self.loss.has_happened and without is None,
        )

    async def replies(self, answered: Answered[object, R], /) -> list[R]:
        """Wait until all nodes have logged what they sent, and return their replies."""
        replies = await self.watch(asyncio.gather(*answered.replies), answered.replies)
        self.loss.failed(None)
        return replies

    @property
    def _signs(self) -> bool:
        # Where three have computed, honest nodes may contradict each other, so that signed
        # statements would name the wrong one.
        return self.naming.signed and not self.loss.has_happened

    def examine(self, evidence: Sequence[bytes], /) -> None:
        """Note what proves that a node cheated, and go on without it."""
        before = self.loss.without
        self.naming.examine(evidence)
        self._watch.exclude()
        if self.loss.without != before:
            self._epoch = None  # the next one is the others'

    async def cancel(self, asked: Iterable[asyncio.Future[Any]], /) -> None:
        """Have the nodes stop what they were asked for and have not answered."""
        await self._watch.cancel(asked)

    async def watch(self, work: asyncio.Future[T], asked: Iterable[asyncio.Future[R]], /) -> T:
        """Return the result of some work, unless a node fails or stays silent first."""
        return await self._watch.result(work, asked)

    # Trying again.

    async def persist(self, once: Callable[[], Awaitable[T]], /, *, until: float | None) -> T:
        """Try until it works, the instant `until` has come, or a node refuses."""
        loop = asyncio.get_running_loop()
        give_up: float | None = None
        trouble: MpcError | None = None
        pause = PAUSE_SECONDS
        try:
            async with asyncio.timeout_at(until):
                while True:
                    try:
                        return await once()
                    except MpcError as error:
                        trouble = error
                        self._epoch = None
                    except RefusedError:
                        # Nodes end an epoch with whatever did not come to its end in it.
                        self._epoch = None
                        raise
                    if give_up is None:
                        give_up = loop.time() + GIVE_UP_SECONDS
                    if until is None and loop.time() > give_up:
                        raise trouble
                    # A refusal comes at once, and each attempt leaves lines in all logs.
                    alone = isinstance(trouble, LoneRefusalError)
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS) if alone else PAUSE_SECONDS
                    await asyncio.sleep(pause)
        except TimeoutError:
            raise self._watch.blame(trouble) from trouble

    def blame(self) -> MpcError:
        """Say who does not answer, as far as one can tell; from any thread."""
        return self._watch.blame(None)

    async def close(self) -> None:
        self.loss.close()
        await asyncio.gather(*(client.disconnect() for client in self.clients))


def _confirmed(numbers: Iterable[int], /) -> int:
    """Return the highest number that a node names; of four nodes, that another one confirms.

    >>> _confirmed([3, 5, 4]), _confirmed([3, 5, 1 << 62, 4])
    (5, 5)
    """
    named = sorted(numbers, reverse=True)
    return named[len(named) == max(CLUSTER_SIZES)]


def _common(kept: Sequence[AbstractSet[Attempt]], /) -> list[Attempt]:
    """Return the attempts whose states all nodes keep; if there are none, of four what three say.

    A step can go on only from what all have. Of four nodes one may lie, and name no state, or only
    one that an honest node missed; so that which two honest nodes and it decide on, and nobody can
    open. Honest nodes have a state in common, and one that missed a step has those before. So of
    three that name the oldest state the common ones count.

    >>> one, two = Attempt("1:1:1"), Attempt("2:1:1")
    >>> _common([{one, two}, {one, two}, {one, two}, set()])
    ['1:1:1', '2:1:1']
    >>> _common([{one, two}, {one, two}, {one}, {two}])
    ['1:1:1']
    """
    named = set[Attempt]().union(*kept)
    by = {each: frozenset(k for k, own in enumerate(kept) if each in own) for each in named}
    found = [each for each, nodes in by.items() if len(nodes) == len(kept)]
    if not found and len(kept) == max(CLUSTER_SIZES):
        found = [each for each, nodes in by.items() if len(nodes) == len(kept) - 1]
        oldest = min(found, key=lambda each: (each.number, each), default=None)
        found = [each for each in found if oldest is not None and by[each] == by[oldest]]
    return sorted(found)


async def _checked_log(client: NodeClient, agreement: bytes) -> Log:
    return verify_log((await fetched_log(client, agreement, b"")).log)


async def _nothing(session: Session) -> None:
    """Take no part in what the nodes compute."""


@dataclass(frozen=True, slots=True)
class Counted:
    """That a run counts."""

    head: str
    """Of the chain of counted runs, with this one."""
    rounds: int


async def count_run(
    coordinator: Coordinator,
    /,
    *,
    search: int = 0,
    state: Attempt = NO_ATTEMPT,
    votes: Sequence[bytes] = (),
    plan: bytes = b"",
    before: Callable[[int], Awaitable[None]] | None = None,
    until: float | None,
) -> Counted:
    """Have all nodes count the plan of a state, or this one; `before` readies them in an epoch.

    `votes` are those by which the nodes have decided on the state.
    """

    async def once() -> Counted:
        epoch = await coordinator.epoch(everybody=True)
        if before is not None:
            await before(epoch)
        request = CountRun(
            agreement=coordinator.hash,
            search=search,
            state=state,
            votes=[*votes],
            plan=plan,
            epoch=epoch,
            attempt=coordinator.new_attempt(),
        )
        done = await coordinator.replies(
            await coordinator.attempt(request, request.digest, _nothing)
        )
        heads = {each.head for each in done}
        if len(heads) > 1:
            raise AbortError("the nodes", "have counted different runs")
        return Counted(heads.pop(), max(each.rounds for each in done))

    return await coordinator.persist(once, until=until)
