"""Run a node: listen for peers and platforms, and keep the state of all agreements.

All parties have pinned certificates. `tacit.node.process` runs this as a process.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import SignedSeries
from tacit.agreement.terms import Agreement, agreement_hash, canonical
from tacit.errors import FileError
from tacit.identity.certificates import DAY, expiry_warnings
from tacit.identity.config import NodeConfig, parse_address
from tacit.mpc import Epoch, party_name
from tacit.mpc.transport import FrameBudget, Listener, Mux, TlsLink, delayed
from tacit.node.admission import Parties, check_allowed, check_parties
from tacit.node.agreement_state import AgreementState
from tacit.node.keys import OwnKeys
from tacit.node.limits import (
    KeptSearches,
    KeptWeights,
    MemoryBudget,
    Quota,
    has_tombstone,
    remove_folder,
    remove_leftovers,
    tombstone,
)
from tacit.node.links import PeerLinks
from tacit.node.opening import bind_for_peer
from tacit.node.own_log import OwnLog, shorten
from tacit.node.platform_connection import PENDING_LIMIT, PlatformConnection
from tacit.node.policy import refuse
from tacit.node.series import KeptSeries
from tacit.node.store import Store, folder_name
from tacit.node.threads import Turns, WorkerLoops, to_the_end
from tacit.records.events import (
    AgreementBroken,
    AgreementRemoved,
    CertificateExpires,
    Connected,
    LinkRejected,
    LogEvent,
    NodeStarted,
    NodeStopped,
)

if TYPE_CHECKING:
    from tacit.node.metrics import NodeMetrics


FRAME_LIMIT = 64 << 20
"""Larger frames are refused before anything is allocated for them."""
PLATFORM_BYTES = 64 << 20
"""What all links of a platform may have a node keep of frames, except for one frame alone."""
UNSENT_BYTES = 1 << 20
"""What a platform may leave untaken on a link before it gets nothing more."""
TIDY_EVERY_SECONDS = 3600.0
"""How often the node removes what has expired."""


class Node:
    """One node of a cluster."""

    def __init__(self, config: NodeConfig, /) -> None:
        folder = Path(config.folder)
        self.config, self.number, self.name = config, config.node, party_name(config.node)
        self.parties = Parties(config)
        self._data = folder / config.data
        self._data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._own_log = OwnLog(self._data / "log.jsonl", platforms=self.parties.platforms)
        self._links: Counter[str] = Counter()
        self._frames: dict[str, FrameBudget] = {}
        self.agreement_states: dict[bytes, AgreementState] = {}
        self._warned = 0.0
        self.broken: set[str] = set()
        """Folders of agreements that cannot be read; refused until the operator has looked."""
        self.epochs: dict[tuple[bytes, int], Epoch] = {}
        self.turns, self.pages, self.workers = Turns(), Turns(), WorkerLoops()
        self.weights = KeptWeights()
        self.searches = KeptSearches(megabytes=config.most_working_megabytes)
        self.memory = MemoryBudget(self.name, megabytes=config.most_working_megabytes)
        self._connections: set[asyncio.Task[None]] = set()
        self.peers = PeerLinks(
            config,
            self.parties.identity,
            frame_limit=FRAME_LIMIT,
            log=self.note,
            lost=self.end_epochs,
            bind=lambda asked, peer: bind_for_peer(self, asked, peer),
        )
        # In this order: half-removed folders must not be read as agreements, and agreements claim
        # their sealing keys when they are read.
        remove_leftovers(self._data)
        self.own_keys = OwnKeys(config, self._data)
        self.series = KeptSeries(self._data, most=config.most_agreements, node=self.number)
        self._load_agreement_states()
        self.quota = Quota(
            config, self.agreement_states.values, are_one_platform=self.parties.are_one_platform
        )
        self.metrics = self._metrics()

    def _metrics(self) -> NodeMetrics | None:
        if not self.config.metrics:
            return None
        # Imported here: a node without metrics does without the library.
        from tacit.node.metrics import NodeMetrics

        return NodeMetrics(
            agreements=lambda: len(self.agreement_states),
            peers=lambda: len(self.peers.current()),
            relayed=lambda: self.peers.relayed,
            passing=lambda: self.peers.relays.passing,
            stored=lambda: sum(each.store.size for each in list(self.agreement_states.values())),
            certificates_expire=self.parties.certificates_expire,
        )

    def tidy(self) -> None:
        """End agreements that have expired, and remove those that expired long ago."""
        now = time.time()
        self.own_keys.sealing.lapse(now)
        self.series.lapse(now)
        for state in list(self.agreement_states.values()):
            if not state.ended and now >= state.agreement.limits.expires:
                self.end_agreement(state, "it has expired")
        for state in self.quota.outlived(now):
            self.end_epoch(state.hash)
            # Before anything of it goes: a crash in between must not let it count anew.
            tombstone(self._data, state.hash)
            del self.agreement_states[state.hash]
            self.weights.forget(state.hash)
            remove_folder(state.store.folder)
            self.note(AgreementRemoved(state.hash.hex(), "it has long expired"))

    def warn_of_expiry(self, now: float, /) -> None:
        """Warn once a day of certificates that expire soon."""
        if now < self._warned + DAY:
            return
        self._warned = now
        for party, what in expiry_warnings(self.parties.certificates_expire(), now).items():
            self.note(CertificateExpires(party, what))
            print(f"tacit: {what}", file=sys.stderr, flush=True)

    async def _tidy_up(self) -> None:
        while True:
            self.tidy()
            self.warn_of_expiry(time.time())
            await asyncio.sleep(TIDY_EVERY_SECONDS)

    def _load_agreement_states(self) -> None:
        for folder in sorted(self._data.iterdir()):
            if not (folder / "agreement.json").exists():
                continue
            try:
                self._hold(Store(folder))
            except Exception as error:
                # Any error at all: one damaged folder must not keep the others from being served.
                self.broken.add(folder.name)
                self.note(AgreementBroken(folder.name, shorten(f"{error!r}")))
                print(f"{folder}: cannot be used ({error})", file=sys.stderr, flush=True)

    def note(self, event: LogEvent, /) -> None:
        """Append a line to the node's own log."""
        self._own_log.note(event)

    def _hold(self, store: Store) -> AgreementState:
        key = self.own_keys.claim(store.agreement)
        state = AgreementState(store, node=self.number, key=key)
        if state.ended:
            # Again: the node may have been killed between the log's line and the erasure.
            self._erase(state)
        elif key is None:
            raise FileError(store.folder, None, "its sealing key is gone", "make a new agreement")
        self.agreement_states[state.hash] = state
        return state

    def end_agreement(self, state: AgreementState, why: str, /) -> None:
        """End an agreement: erase its sealing key, boxes and shares; its log stays."""
        # The line in the log comes first. After a crash the erasure is done again from it.
        state.end(why)
        self.end_epoch(state.hash)
        self._erase(state)

    def _erase(self, state: AgreementState) -> None:
        # The key first: without it nothing else here is a secret.
        self.own_keys.erase(state.agreement)
        state.erase()

    def offer_sealing_key(
        self, nonce: str, certificate: str, platform: str, /, *, signing_key: str
    ) -> tuple[str, str]:
        """A sealing key for an agreement with this platform, and the signature under the offer."""
        if not self.parties.are_one_platform(certificate, platform):
            raise refuse("the offer is for another platform than the one that asks")
        self.quota.check_room(platform)
        return self.own_keys.offer(nonce, certificate, signing_key=signing_key)

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
        self.quota.check_count(len(canonical(agreement)), platform)
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
        return self._hold(store)

    def agreement_state(self, agreement: bytes, platform: str, /) -> AgreementState:
        """The state of an agreement with this platform."""
        self._check_unbroken(agreement)
        # One refusal for what is not here and what is another platform's: nobody finds out which
        # agreements others have.
        state = self.agreement_states.get(agreement)
        if state is None or not self.parties.are_one_platform(state.agreement.platform, platform):
            raise refuse("this agreement is not known here; send it first")
        return state

    def _check_unbroken(self, agreement: bytes) -> None:
        if folder_name(agreement) in self.broken:
            raise refuse("what the node keeps of this agreement is damaged; ask its operator")

    def _accept(self, link: TlsLink) -> None:
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
        self.note(Connected(link.peer))
        link.share(self._frames.setdefault(link.peer, FrameBudget(PLATFORM_BYTES)))
        link.limit_unsent(UNSENT_BYTES)
        mux = Mux(delayed(link, self.config.delay_ms), pending_limit=PENDING_LIMIT)
        platform = self.parties.platform_certificates(link.peer)[0]
        connection = PlatformConnection(self, mux, platform)
        task = asyncio.get_running_loop().create_task(connection.serve())
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
        tidying = asyncio.get_running_loop().create_task(self._tidy_up())
        stop_metrics = self._serve_metrics()
        self.note(NodeStarted(self.number))
        self.peers.start()
        try:
            await stop.wait()
        finally:
            # From outside to inside: no new requests, then the running ones, then what they use.
            tidying.cancel()
            stop_metrics()
            await listener.close()
            for task in list(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self.peers.close()
            self.workers.close()
            self.note(NodeStopped(self.number))


def _nothing() -> None:
    """There is nothing to stop."""
