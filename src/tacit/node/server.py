"""Run a node: listen for peers and platforms, and keep the state of all agreements.

All parties have pinned certificates. `tacit.node.process` runs this as a process.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import SignedSeries
from tacit.agreement.terms import Agreement, agreement_hash, canonical
from tacit.errors import FileError, LogError, VersionError
from tacit.identity.certificates import DAY, expiry_warnings
from tacit.identity.config import NodeConfig, parse_address
from tacit.mpc import Epoch, party_name
from tacit.mpc.transport import FrameBudget, Listener, Mux, TlsLink, delayed
from tacit.node.admission import Parties, check_allowed, check_parties
from tacit.node.agreement_state import HAS_ENDED, AgreementState
from tacit.node.clocks import Clocks
from tacit.node.ended import EndedAgreements, EndedRecord, read_record
from tacit.node.keys import OwnKeys
from tacit.node.limits import (
    KeptAgreement,
    KeptSearches,
    KeptWeights,
    MemoryBudget,
    Quota,
    RoomUsed,
    has_tombstone,
    remove_folder,
    remove_leftovers,
    tombstone,
)
from tacit.node.links import PeerLinks
from tacit.node.own_log import AgreementLines, OwnLog, say, shorten
from tacit.node.platform_connection import EARLY_NOTICES, PENDING_LIMIT, PlatformConnection
from tacit.node.policy import refuse
from tacit.node.presence import PeerPresence
from tacit.node.processes import ForkLine, Processes
from tacit.node.series import KeptSeries
from tacit.node.store import Store, folder_name
from tacit.node.threads import Turns, WorkerLoops, in_thread, to_the_end
from tacit.records.events import (
    AgreementAccepted,
    AgreementBroken,
    AgreementRemoved,
    CertificateExpires,
    Connected,
    LinkRejected,
    LittleRoom,
    LogEvent,
    NodeFault,
    NodeStarted,
    NodeStopped,
)
from tacit.records.messages import End, OfferSealingKey
from tacit.supervisor import Supervisor, try_all

if TYPE_CHECKING:
    from tacit.node.metrics import NodeMetrics


FRAME_LIMIT = 64 << 20
"""Larger frames are refused before anything is allocated for them."""
PLATFORM_BYTES = 64 << 20
"""What all links of a platform may have a node keep of frames, except for one frame alone."""
UNSENT_BYTES = 1 << 20
"""What a platform may leave untaken on a link before it gets nothing more."""
TIDY_EVERY_SECONDS = 3600.0
"""How often the node ends and removes what has expired."""
LOOK_SECONDS = 60.0
"""How often it looks at what is left of the room for each platform."""


class Node:
    """One node of a cluster."""

    def __init__(self, config: NodeConfig, /, *, forks: ForkLine | None = None) -> None:
        """`forks` starts processes for agreements; without, all is computed in this one."""
        folder = Path(config.folder)
        self.config, self.number, self.name = config, config.node, party_name(config.node)
        self.parties = Parties(config)
        self._data = folder / config.data
        self._data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._own_log = OwnLog(self._data / "log.jsonl", platforms=self.parties.platforms)
        self._links: Counter[str] = Counter()
        self._frames: dict[str, FrameBudget] = {}
        self._warned: set[str] = set()
        """The platforms whose operator was warned that they have little room."""
        self.untidy = asyncio.Event()
        """Set when something is left to erase."""
        self.agreement_states: dict[bytes, AgreementState] = {}
        self.broken: set[str] = set()
        """Folders of agreements that cannot be read; refused until the operator has looked."""
        self.epochs: dict[tuple[bytes, int], Epoch] = {}
        self.turns, self.pages, self.workers = Turns(), Turns(), WorkerLoops()
        self.processes = Processes(self.name, forks)
        self.weights = KeptWeights()
        self.searches = KeptSearches(megabytes=config.most_working_megabytes)
        self.memory = MemoryBudget(self.name, megabytes=config.most_working_megabytes)
        self._connections: set[asyncio.Task[None]] = set()
        self.tasks = Supervisor(self._task_failed)
        self.peers = PeerLinks(
            config,
            self.parties.identity,
            frame_limit=FRAME_LIMIT,
            log=self.note,
            lost=self.end_epochs,
            tasks=self.tasks,
        )
        self.presence = PeerPresence(self.peers.lines)
        self.clocks = Clocks(self._data, self.number, self.peers.lines, log=self.note)
        # In this order: half-removed folders must not be read as agreements, and agreements claim
        # their sealing keys when they are read.
        remove_leftovers(self._data)
        self.own_keys = OwnKeys(config, self._data)
        self.ended = EndedAgreements(self._data, self._reread)
        self.series = KeptSeries(self._data, most=config.most_agreements, node=self.number)
        self._load_agreement_states()
        self.quota = Quota(
            config,
            self._kept,
            waiting=self.own_keys.sealing.waiting,
            ended=self.ended,
            are_one_platform=self.parties.are_one_platform,
        )
        self.metrics = self._metrics()

    def _metrics(self) -> NodeMetrics | None:
        if not self.config.metrics:
            return None
        # Imported here: a node without metrics does without the library.
        from tacit.node.metrics import NodeMetrics

        states = self.agreement_states
        gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "agreements": ("Agreements that have not ended", lambda: len(states)),
            "ended_agreements": (
                "Agreements that have ended, of which the logs are kept",
                self.ended.counts.total,
            ),
            "sealing_keys_waiting": (
                "Sealing keys of agreements that are drafted",
                lambda: len(self.own_keys.sealing.waiting()),
            ),
            "peers_connected": (
                "Other nodes of the cluster that are connected",
                lambda: len(self.peers.current()),
            ),
            "peers_relayed": (
                "Of those, the ones that are reached through another",
                lambda: self.peers.relayed,
            ),
            "relays": (
                "Links of other nodes that go through this one",
                lambda: self.peers.relays.passing,
            ),
            "stored_bytes": (
                "Bytes kept of agreements that have not ended",
                lambda: sum(each.store.size for each in list(states.values())),
            ),
            "stored_ended_bytes": (
                "Bytes kept of agreements that have ended",
                self.ended.bytes.total,
            ),
        }
        return NodeMetrics(
            gauges,
            room_used=self._room_used,
            certificates_expire=self.parties.certificates_expire,
            tasks=self.tasks,
        )

    def _kept(self) -> list[KeptAgreement]:
        return [
            KeptAgreement(each.agreement.platform, each.store.agreement_bytes, each.size)
            for each in self.agreement_states.values()
        ]

    def _room_of(self, platform: str) -> RoomUsed:
        return self.quota.room(self.parties.platform_certificates(platform)[0])

    def _room_used(self) -> dict[tuple[str, str], float]:
        rooms = {name: self._room_of(name) for name in self.parties.platforms}
        return {(name, each): used for name in rooms for each, used in rooms[name].used().items()}

    def tidy(self) -> None:
        """End agreements that have expired, and erase what can be erased since.

        What fails is reported in the end, and tried again with the whole round: nothing here does
        harm twice.
        """
        now = time.time()
        expired = [
            partial(self.end_agreement, state, "it has expired")
            for state in self.agreement_states.values()
            # One that has ended is still here if its erasure failed.
            if state.ended or now >= state.agreement.limits.expires
        ]
        lapses = [partial(self.own_keys.sealing.lapse, now), partial(self.series.lapse, now)]
        try_all("what expires", [*lapses, *expired])

    async def remove_outlived(self) -> None:
        """Remove the agreements that expired so long ago that nobody asks for them."""
        before = time.time() - self.config.keep_days * DAY
        # All records are read, and there may be many thousands.
        await in_thread(remove_leftovers, self._data)
        outlived = await in_thread(list, self.ended.outlived(before))
        errors = []
        for record in outlived:
            try:
                await in_thread(self._remove, record)
            except Exception as error:
                errors.append(error)
            else:
                self.ended.forget(record)
                self.note(AgreementRemoved(record.agreement.hex(), "it has long expired"))
        if errors:
            raise ExceptionGroup("agreements to remove", errors)

    def _remove(self, record: EndedRecord) -> None:
        # Before anything of it goes: a crash in between must not let it count anew.
        tombstone(self._data, record.agreement)
        remove_folder(self._data / folder_name(record.agreement))

    def look_at_room(self) -> None:
        """Warn once of each platform that has little room left, and again if it comes back."""
        for name in self.parties.platforms:
            room = self._room_of(name)
            setting, used = room.scarcest
            if not room.is_little:
                self._warned.discard(name)
            elif name not in self._warned:
                self._warned.add(name)
                what = f"{used:.0%} of {setting} is taken; end or cancel runs, or allow more"
                self.note(LittleRoom(name, what))
                say(f"{name}: {what}")

    def warn_of_expiry(self, now: float, /) -> None:
        """Warn of certificates that expire soon."""
        for party, what in expiry_warnings(self.parties.certificates_expire(), now).items():
            self.note(CertificateExpires(party, what))
            say(what)

    def _task_failed(self, name: str, error: BaseException) -> None:
        self.note(NodeFault(what=shorten(f"{name}: {error!r}; it is tried again")))

    def _load_agreement_states(self) -> None:
        for folder in sorted(self._data.iterdir()):
            record = read_record(folder)
            if record is not None:
                self.ended.count(record)
                continue
            if not (folder / "agreement.json").exists():
                continue
            try:
                state = self._hold(Store(folder))
            except Exception as error:
                # Any error at all: one damaged folder must not keep the others from being served.
                self.broken.add(folder.name)
                self.note(AgreementBroken(folder.name, shorten(f"{error!r}")))
                say(f"{folder}: cannot be used ({error})")
            else:
                if state.ended:
                    self._end_again(state)
        self.own_keys.sealing.remove_overwritten()

    def _end_again(self, state: AgreementState) -> None:
        """Do what was left of an agreement's end when the node was killed, or the disk was full."""
        try:
            self.end_agreement(state, "it had ended before the node started")
        except Exception as error:
            self._task_failed("end of an agreement", error)  # the first round of tidying goes on

    def _reread(self, store: Store) -> AgreementState:
        """Restore the state of an agreement that has ended; only what stayed of it is there."""
        return AgreementState(store, node=self.number, key=None, erased=True)

    def note(self, event: LogEvent, /) -> None:
        """Append a line to the node's own log."""
        self._own_log.note(event)

    def _hold(self, store: Store, *, is_new: bool = False) -> AgreementState:
        key = self.own_keys.claim(store.agreement)
        erased = key is None and self.own_keys.was_overwritten(store.agreement)
        state = AgreementState(store, node=self.number, key=key, erased=erased)
        if key is None and not state.ended:
            raise FileError(store.folder, None, "its sealing key is gone", "make a new agreement")
        self.agreement_states[state.hash] = state
        lines = AgreementLines(store.hash, state.agreement.platform, store.log.recent())
        if is_new:
            # Its first line was written before anybody could hear of it.
            lines.hear(AgreementAccepted(store.hash.hex()))
        store.log.heard = lines.hear
        return state

    def end_agreement(self, state: AgreementState, why: str, /) -> None:
        """End an agreement: erase its sealing key, boxes and shares; its log stays on the disk."""
        self.end_epoch(state.hash)
        try:
            self._end(state, why)
        except Exception:
            self.untidy.set()  # it is tried again, without anybody asking
            raise
        if self.agreement_states.pop(state.hash, None) is not None:
            self.weights.forget(state.hash)
            self.processes.forget(state.hash)
            self.searches.forget(state.hash)

    def _end(self, state: AgreementState, why: str) -> None:
        try:
            # The line in the log comes first. After a crash the erasure is done again from it.
            state.end(why)
        except LogError:
            # The disk is full. To put zeros in place of the key needs no room and says the same
            # after a crash; what is deleted then makes room for the line.
            self.own_keys.overwrite(state.agreement)
            state.erase()
            state.end(why)
        # The key first: without it nothing else here is a secret.
        self.own_keys.erase(state.agreement)
        state.erase()
        if state.hash in self.agreement_states:
            self.ended.keep(state)

    def end_run(self, request: End, platform: str, /) -> None:
        """Delete what there is of a run that is over, even if it came to no agreement."""
        is_sender = partial(self.parties.are_one_platform, platform)
        self.own_keys.sealing.give_back(request.nonce, is_sender)
        state = self.agreement_states.get(request.agreement)
        # Done as well if there is nothing: so nobody finds out which agreements others have.
        if state is not None and is_sender(state.agreement.platform):
            self.end_agreement(state, "the platform says that the run is over")

    def offer_sealing_key(self, request: OfferSealingKey, platform: str, /) -> tuple[str, str]:
        """A sealing key for an agreement with this platform, and the signature under the offer."""
        if not self.parties.are_one_platform(request.platform, platform):
            raise refuse("the offer is for another platform than the one that asks")
        size = {"text": request.text, "rows": request.rows}
        self.quota.check_offer(platform, request.nonce, **size)
        return self.own_keys.offer(
            request.nonce, request.platform, signing_key=request.signing_key, **size
        )

    def end_epoch(self, agreement: bytes, /) -> None:
        """Close the agreement's epoch: nothing is ever drawn from its keys again."""
        for key in [key for key in self.epochs if key[0] == agreement]:
            self.epochs.pop(key).close()

    def end_epochs(self, peer: int, /) -> None:
        """Close every epoch with a peer whose link broke.

        The two ends may have come differently far, so nothing is drawn from these keys again. An
        epoch without the peer goes on: a lost node ends nothing by coming and going.
        """
        for key, epoch in list(self.epochs.items()):
            if peer in epoch.members:
                self.epochs.pop(key).close()

    async def take_agreement(
        self,
        agreement: Agreement,
        signatures: dict[str, bytes],
        platform: str,
        public: Mapping[int, NDArray[np.int64]] | None = None,
        series: SignedSeries | None = None,
        /,
    ) -> AgreementState:
        """Keep an agreement (checked, signed by all) if the node knows its nodes and platform."""
        self._check_unbroken(agreement_hash(agreement))
        if has_tombstone(self._data, agreement_hash(agreement)):
            raise refuse("the agreement has expired and was removed here; make a new one")
        check_parties(agreement, platform, self.parties)
        check_allowed(agreement, self.config)
        self.own_keys.check_named(agreement)
        self.quota.check_agreement(len(canonical(agreement)), platform, agreement.nonce)
        if agreement.series is not None:
            if series is None:
                raise refuse("the agreement names a series, which was not looked at")
            # After all other checks, since it writes the run down.
            self.series.admit(agreement, series, now=time.time())
        # Not cancelled in the middle: a folder on the disk that is not in memory would count for no
        # quota until the next start.
        return await to_the_end(self._create(agreement, signatures, public))

    async def _create(
        self,
        agreement: Agreement,
        signatures: dict[str, bytes],
        public: Mapping[int, NDArray[np.int64]] | None,
    ) -> AgreementState:
        store = await asyncio.to_thread(Store.create, self._data, agreement, signatures, public)
        return self._hold(store, is_new=True)

    def agreement_state(self, agreement: bytes, platform: str, /) -> AgreementState:
        """The state of an agreement with this platform that has not ended."""
        self._check_unbroken(agreement)
        # One refusal for what is not here and what is another platform's: nobody finds out which
        # agreements others have.
        state = self.agreement_states.get(agreement)
        if state is None and self._has_ended(agreement, platform):
            raise refuse(HAS_ENDED)
        if state is None or not self.parties.are_one_platform(state.agreement.platform, platform):
            raise refuse("this agreement is not known here; send it first")
        state.check_not_ended()
        return state

    def _has_ended(self, agreement: bytes, platform: str) -> bool:
        record = self.ended.record(agreement)
        return (
            record is not None
            and record.agreement == agreement
            and self.parties.are_one_platform(record.platform, platform)
        )

    async def ended_state(self, agreement: bytes, platform: str, /) -> AgreementState | None:
        """The state of an agreement with this platform that has ended; None if it has not.

        It is read from the disk, which takes time: the caller has the turn of the platform.
        """
        state = self.agreement_states.get(agreement)
        if state is None and self._has_ended(agreement, platform):
            state = await in_thread(self.ended.state, agreement)
        is_its_own = state is not None and self.parties.are_one_platform(
            state.agreement.platform, platform
        )
        return state if is_its_own and state is not None and state.ended else None

    def _check_unbroken(self, agreement: bytes) -> None:
        if folder_name(agreement) in self.broken:
            raise refuse("what the node keeps of this agreement is damaged; ask its operator")

    def _accept(self, link: TlsLink) -> None:
        if isinstance(link.failure, VersionError):
            self.peers.refusals.add(link.peer, link.failure.what)
            return
        for peer in self.config.peers:
            if party_name(peer.node) == link.peer:
                self.peers.accept(peer.node, link)
                return
        # Not a peer, so a platform: TLS turns strangers away. It gets so many links, and all of
        # them together a bounded memory, or one platform could use up the node's.
        most = self.config.most_links
        if self._links[link.peer] >= most:
            self.note(LinkRejected(link.peer, f"it has {most} links already"))
            link.abort()
            return
        self.peers.refusals.clear(link.peer)
        self.note(Connected(link.peer))
        link.share(self._frames.setdefault(link.peer, FrameBudget(PLATFORM_BYTES)))
        link.limit_unsent(UNSENT_BYTES)
        slowed = delayed(link, self.config.delay_ms)
        mux = Mux(slowed, pending_limit=PENDING_LIMIT, early=EARLY_NOTICES)
        platform = self.parties.platform_certificates(link.peer)[0]
        connection = PlatformConnection(self, mux, platform)
        task = self.tasks.once("platforms", connection.serve())
        self._connections.add(task)
        self._links[link.peer] += 1

        def ended(_: asyncio.Task[None]) -> None:
            self._connections.discard(task)
            self._links[link.peer] -= 1

        task.add_done_callback(ended)

    def _rejected(self, where: str, why: str) -> None:
        self.note(LinkRejected(where, why))

    def _serve_metrics(self) -> Callable[[], None]:
        if self.metrics is None:
            return _nothing
        try:
            return self.metrics.serve(self.config.metrics)
        except OSError as error:
            what = f"cannot listen for metrics ({error})"
            raise FileError(self.config.metrics, None, what, "choose another address") from None

    async def run(self, stop: asyncio.Event, /) -> None:
        """Serve until `stop` is set."""
        listener = Listener(self.parties.identity, self._accept, self._rejected, limit=FRAME_LIMIT)
        host, port = parse_address(self.config.listen)
        remedy = "stop what listens there, or choose another address"
        try:
            await listener.start(host, port)
        except OSError as error:
            raise FileError(self.config.listen, None, f"cannot listen ({error})", remedy) from None
        self.tasks.every(TIDY_EVERY_SECONDS, "tidying", self.tidy, early=self.untidy)
        self.tasks.every(TIDY_EVERY_SECONDS, "removal of agreements", self.remove_outlived)
        self.tasks.every(LOOK_SECONDS, "room for platforms", self.look_at_room)
        self.tasks.every(LOOK_SECONDS, "clocks", self.clocks.look, early=self.peers.measured)
        self.tasks.every(DAY, "expiry of certificates", lambda: self.warn_of_expiry(time.time()))
        stop_metrics = self._serve_metrics()
        self.note(NodeStarted(self.number))
        self.peers.start()
        try:
            await stop.wait()
        finally:
            # From outside to inside: no new requests, then the running ones, then what they use.
            stop_metrics()
            await listener.close()
            for task in list(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self.peers.close()
            await self.tasks.close()
            self.workers.close()
            self.processes.close()
            self.note(NodeStopped(self.number))


def _nothing() -> None:
    """There is nothing to stop."""
