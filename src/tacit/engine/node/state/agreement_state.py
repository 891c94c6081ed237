"""What a node holds for one agreement: inputs, counters, and what it has already told.

Everything here is rebuilt from the agreement's folder when the node starts.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field

import numpy as np

from tacit.engine.agreement.sealed_terms import sealed_terms
from tacit.engine.agreement.sealing import box_hash, open_box, read_manifest
from tacit.engine.agreement.seed import manifests_digest, search_seed
from tacit.engine.identity.keys import Keys
from tacit.engine.node.state.best_so_far import BestSoFar
from tacit.engine.node.state.policy import (
    Asked,
    RefusalKind,
    check_epoch,
    check_not_revealed,
    check_number,
    check_population,
    check_repeat,
    check_reveal,
    check_still_valid,
    refuse,
)
from tacit.engine.node.state.sealed_progress import SealedProgress
from tacit.engine.node.state.store import LEASE, Store, StoredInput
from tacit.engine.wire.messages import Submit
from tacit.engine.wire.recording_mux import RecordingMux
from tacit.engine.wire.request import candidate_hashes
from tacit.errors import EngineError
from tacit.mpc import ArithmeticShare

TOLD_NUMBERS = 16
"""So many of its last numbers a node tells its peers when an epoch begins."""


@dataclass(slots=True)
class Counter:
    """The numbers used for one objective, with the hash of each request."""

    highest: int = 0
    used: dict[int, bytes | None] = field(default_factory=dict)

    @property
    def latest(self) -> int:
        """The last number that a request is known of; later ones can never be computed."""
        return next((n for n in range(self.highest, 0, -1) if self.used.get(n)), 0)


class AgreementState:
    """One agreement at one node."""

    def __init__(self, store: Store, *, node: int, keys: Keys) -> None:
        self.store, self.agreement, self.hash = store, store.agreement, store.hash
        self.node, self._keys = node, keys
        objectives = self.agreement.confidential()
        self.counters = {k: Counter() for k in objectives}
        self.frozen: set[int] = set()
        self.words: dict[int, str] = {}
        """What the nodes drew together when they froze an objective, for the search's seed."""
        self.preparing = asyncio.Lock()
        self.revealed: dict[int, bytes] = {}
        self._weights: dict[int, ArithmeticShare] = {}
        self.bests = {k: BestSoFar(store, k) for k in objectives if self.keeps_best(k)}
        self.searches = (
            {
                search: SealedProgress(store, search)
                for search in range(len(sealed_terms(self.agreement).weightings))
            }
            if self.agreement.sealed
            else {}
        )
        self.last_epoch = -1
        self._evaluated = {k: store.load_evaluated(k) for k in objectives}
        for entry in store.log.entries:
            self._replay(entry)
        for objective, number in store.lost_numbers.items():
            # The machine restarted: what the lease covers may have been used.
            if number > self.counters[objective].highest:
                store.log.append("caught up", objective=objective, number=number, request="")
                store.log.sync()
                self.counters[objective].highest = number

    def keeps_best(self, objective: int) -> bool:
        """Whether evaluations of an objective build on the best fitness so far."""
        return self.agreement.objectives[objective].keeps_best

    def _replay(self, entry: dict[str, object]) -> None:
        if entry["event"] == "epoch":
            self.last_epoch = max(self.last_epoch, int(str(entry["number"])))
        objective = entry.get("objective")
        if not isinstance(objective, int) or objective not in self.counters:
            return
        counter = self.counters[objective]
        match entry["event"]:
            case "evaluate" | "caught up":
                number, request = int(str(entry["number"])), str(entry["request"])
                counter.highest = max(counter.highest, number)
                counter.used[number] = bytes.fromhex(request)
            case "broken off" | "sent" if objective in self.bests:
                broken = entry["event"] == "broken off"
                self.bests[objective].broken_off = int(str(entry["number"])) if broken else None
            case "frozen":
                self.frozen.add(objective)
                self.words[objective] = str(entry["word"])
            case "reveal":
                self.revealed[objective] = bytes.fromhex(str(entry["request"]))

    # Inputs.

    def submit(self, message: Submit) -> None:
        """Take a participant's sealed rows, after opening and checking them."""
        check_still_valid(self.agreement, time.time())
        manifest = read_manifest(self.agreement, message.manifest, message.signature)
        who, objective = manifest.participant, manifest.objective
        stored = StoredInput(message.manifest, message.signature, message.box)
        earlier = self.store.inputs(objective).get(who)
        if earlier == stored:
            return
        if objective in self.frozen:
            raise refuse(f"the inputs of objective {objective} are frozen; make a new agreement")
        if earlier is not None:
            raise refuse(
                f"{who!r} has sealed its rows already, which it does once per agreement",
                kind=RefusalKind.SEALED,
                participants=[who],
            )
        open_box(self.agreement, manifest, message.box, node=self.node, keys=self._keys)
        self.store.save_input(objective, who, stored)
        self._weights.pop(objective, None)
        self.store.log.append(
            "input", objective=objective, participant=who, box=manifest.boxes[self.node]
        )

    def check_objective(self, objective: int) -> None:
        """Refuse an objective that the nodes do not evaluate, and everything after the expiry."""
        if objective not in self.counters:
            raise refuse(f"there is no confidential objective {objective}")
        check_still_valid(self.agreement, time.time())

    def missing(self, objective: int) -> list[str]:
        """The owners whose rows are not here."""
        stored = self.store.inputs(objective)
        owners = [each.participant for each in self.agreement.objectives[objective].owners]
        return [owner for owner in owners if owner not in stored]

    def weights(self, objective: int) -> ArithmeticShare:
        """The node's shares of an objective's whole matrix."""
        if objective not in self._weights:
            shape = (self.agreement.problem.rows, self.agreement.problem.columns)
            whole = ArithmeticShare(np.zeros(shape, np.uint64), np.zeros(shape, np.uint64))
            for who, stored in self.store.inputs(objective).items():
                manifest = read_manifest(self.agreement, stored.manifest, stored.signature)
                share = open_box(
                    self.agreement, manifest, stored.box, node=self.node, keys=self._keys
                )
                rows = self.agreement.rows_of(who, objective)
                whole.mine[rows], whole.next[rows] = share.mine, share.next
            self._weights[objective] = whole
        return self._weights[objective]

    def forget_input(self, objective: int, participant: str, box: str) -> None:
        """Drop this box, if it is still the one that is here; the participant may seal another."""
        stored = self.store.inputs(objective).get(participant)
        if stored is not None and box_hash(stored.box) == box:
            self.store.drop_input(objective, participant)
            self._weights.pop(objective, None)

    def freeze(self, objective: int, checked: dict[str, StoredInput], *, word: str) -> None:
        """From now on the inputs are what they are, and that is what was checked."""
        if self.store.inputs(objective) != checked:
            raise refuse("the inputs changed while they were checked; prepare them again")
        if objective in self.frozen:
            return
        digest = manifests_digest(each.manifest for each in checked.values())
        self.store.log.append("frozen", objective=objective, manifests=digest, word=word)
        self.store.log.sync()
        self.frozen.add(objective)
        self.words[objective] = word

    # Sealed searches.

    def sealed_states(self) -> dict[int, list[str]]:
        """Per sealed search, the attempts whose state is kept here."""
        return {search: progress.names for search, progress in self.searches.items()}

    def bound_searches(self) -> dict[int, str]:
        """Per sealed search that ends here, the attempt whose plan is the one to open."""
        return {k: each.opened for k, each in self.searches.items() if each.opened is not None}

    async def bind_searches(self, told: dict[int, str]) -> None:
        """Bind searches as a peer has; what is bound here already stays as it is."""
        for search, basis in told.items():
            if search not in self.searches:
                raise EngineError(f"a peer has opened search {search}, which does not exist")
            await self.searches[search].bind(basis)

    def search(self, number: int) -> SealedProgress:
        """A sealed search that may go on, or be opened."""
        check_still_valid(self.agreement, time.time())
        if number not in self.searches:
            raise refuse(f"there is no sealed search {number} in this agreement")
        for objective in self.counters:
            self._counter(objective)
        return self.searches[number]

    def search_seed(self) -> int:
        """The seed that follows from the frozen inputs."""
        digests = {
            k: manifests_digest(each.manifest for each in self.store.inputs(k).values())
            for k in self.counters
        }
        return search_seed(self.agreement, digests, self.words)

    # Evaluations.

    def begin(self, asked: Asked, *, attempt: str = "", basis: str = "") -> None:
        """Allow an evaluation or refuse it; when this returns, its number is used on disk.

        Every computation leaves a line in the log, a repeat as well: which attempt it is, and on
        which best so far it builds.
        """
        check_still_valid(self.agreement, time.time())
        counter = self._counter(asked.objective)
        check_population(self.agreement, asked)
        most = self.agreement.limits.evaluations
        counts = check_number(asked.number, asked.request, counter.used, counter.highest, most)
        how = {"attempt": attempt, "basis": basis}
        if counts:
            check_not_revealed(asked.objective in self.revealed)
            self._count("evaluate", asked.objective, asked.number, asked.request, **how)
            return
        if self.keeps_best(asked.objective):
            check_repeat(asked.number, counter.latest)
        self.store.log.append("repeat", objective=asked.objective, number=asked.number, **how)

    def _counter(self, objective: int) -> Counter:
        if objective not in self.counters:
            raise refuse(f"there is no confidential objective {objective}")
        if objective not in self.frozen:
            raise refuse(f"the inputs of objective {objective} are not prepared yet")
        return self.counters[objective]

    def _count(self, event: str, objective: int, number: int, request: bytes, **how: str) -> None:
        if self.store.lease_left(objective, number) < 0:
            self.store.extend_lease(objective, number)
        self.store.log.append(
            event, objective=objective, number=number, request=request.hex(), **how
        )
        counter = self.counters[objective]
        counter.highest = number
        counter.used[number] = request

    def log_sent(
        self, event: str, objective: int, number: int, sent: RecordingMux, *, attempt: str
    ) -> None:
        """A line for an answer that is out: its hash with a fresh salt, so that none is guessed."""
        salt = secrets.token_bytes(16)
        self.store.log.append(
            event,
            objective=objective,
            number=number,
            attempt=attempt,
            salt=salt.hex(),
            digest=sent.digest(salt),
        )

    def break_off(self, asked: Asked) -> None:
        """An evaluation failed after a part of its answer was out."""
        if asked.objective in self.bests:
            self.bests[asked.objective].broken_off = asked.number
            self.store.log.append("broken off", objective=asked.objective, number=asked.number)

    async def finish(self, asked: Asked) -> None:
        """What can wait until the answer is out: remember the candidates, extend the lease."""
        if self.agreement.reveal_best:
            new = candidate_hashes(asked.plans) - self._evaluated[asked.objective]
            self._evaluated[asked.objective] |= new
            self.store.add_evaluated(asked.objective, new)
        if 0 <= self.store.lease_left(asked.objective, asked.number) < LEASE // 4:
            await asyncio.to_thread(self.store.extend_lease, asked.objective, asked.number)

    def begin_reveal(self, objective: int, asked: Asked) -> None:
        """Allow the one final reveal or refuse it; when this returns, it is used on disk."""
        check_still_valid(self.agreement, time.time())
        self._counter(objective)
        earlier = self.revealed.get(objective)
        check_reveal(
            self.agreement, asked.plans, self._evaluated[objective], earlier, asked.request
        )
        if earlier is None:
            self.store.log.append("reveal", objective=objective, request=asked.request.hex())
            self.store.log.sync()
            self.revealed[objective] = asked.request
        else:
            self.store.log.append("repeat", objective=objective, number=asked.number)

    # Epochs, and what the three nodes tell each other when one begins.

    def begin_epoch(self, number: int) -> None:
        """Use up an epoch's number, on the disk: none is ever accepted twice."""
        check_epoch(number, self.last_epoch)
        self.store.log.append("epoch", number=number)
        self.store.log.sync()
        self.last_epoch = number

    def bases(self) -> dict[int, str]:
        """Per objective, the attempt that the newest shares of the best come from."""
        return {k: best.newest for k, best in self.bests.items() if best.newest}

    def told_numbers(self) -> dict[int, list[tuple[int, bytes]]]:
        """The last used numbers of each objective, with their hashes."""
        told = {}
        for objective, counter in self.counters.items():
            first = max(1, counter.highest - TOLD_NUMBERS + 1)
            told[objective] = [
                (n, counter.used.get(n) or b"") for n in range(first, counter.highest + 1)
            ]
        return told

    def catch_up(self, told: dict[int, list[tuple[int, bytes]]]) -> None:
        """Take over numbers that a peer has used and we have not seen: the highest counts."""
        for objective, numbers in told.items():
            counter = self.counters.get(objective)
            if counter is None:
                raise EngineError(f"a peer counts objective {objective}, which does not exist")
            for number, request in numbers:
                if number > counter.highest:
                    self._count("caught up", objective, number, request)
