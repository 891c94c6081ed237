"""Keep a process's links to a cluster: to hand runs over, fetch logs, watch nodes."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from tacit.client import ClusterView, NodeView
from tacit.coordinator import (
    Coordinator,
    NodeOffer,
    ask_for_sealing_keys,
    clients_of,
    end_at_nodes,
)
from tacit.errors import TacitError
from tacit.identity import (
    expires,
    expiry_warnings,
    last_expires,
    load_cluster_config,
    read_certificate,
)
from tacit.local import node_terms, platform_certificate
from tacit.records import End
from tacit.service.execution.agreed_runs import StoredAgreement
from tacit.service.server.settings import Settings
from tacit.supervisor import Supervisor

LOOK_EVERY_SECONDS = 2.0
LOOK_SECONDS = 2.0
OFFER_SECONDS = 5.0
MOST_DELAY_SECONDS = 1.0
"""However far away a node says that another is."""
DAY = 86400.0
WARN_PART = 0.8
"""When so much of a node's room is taken, there is still time to act."""
CLOCK_TOLERANCE_SECONDS = 2.0
"""Clocks that differ by more are worth a warning: agreements expire by the nodes' own."""
log = logging.getLogger("tacit.service.execution")


def links_of(settings: Settings, /) -> dict[str, ClusterLinks]:
    """Links to all clusters of a platform, not started."""
    return {
        cluster.name: ClusterLinks(cluster.name, settings.place(cluster.file), slots=cluster.slots)
        for cluster in settings.cluster
    }


class ClusterLinks:
    """One link to each node of a cluster, shared by all runs that are being handed over."""

    def __init__(self, name: str, file: Path, /, *, slots: int) -> None:
        self.name, self.file, self.slots = name, file, slots
        self._config = load_cluster_config(file)
        self._clients = clients_of(self._config)
        self._reachable = [False] * len(self._clients)
        self._last_seen: list[float | None] = [None] * len(self._clients)
        self._said: set[tuple[str, int]] = set()
        """What the warnings of the last look were about; they are not logged again."""

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self._clients)

    def coordinator(self, stored: StoredAgreement, /, *, fence: int = 0) -> Coordinator:
        """A coordinator on these links; it must not be closed. Without a fence it only reads."""
        made = Coordinator(stored.agreement, self._clients, fence=fence)
        made.give_public(stored.public)
        return made

    async def offered_nodes(
        self, nonce: str, /, *, text: int, rows: int, series: str | None = None
    ) -> tuple[list[NodeOffer], str]:
        """The nodes for an agreement with this nonce, and the platform towards them.

        The nodes draw sealing keys for it, keep room for its text and rows, and tell what they have
        counted of `series`. Files are read again: keys may have been rotated.
        """
        self._config = config = load_cluster_config(self.file)
        platform = platform_certificate(config)
        offers = await ask_for_sealing_keys(
            self._clients,
            node_terms(config),
            nonce=nonce,
            platform=platform,
            within=OFFER_SECONDS,
            series=series,
            text=text,
            rows=rows,
        )
        return offers, platform

    async def end_run(self, end: End, /, *, within: float) -> None:
        """Tell all nodes that a run is over; raise if one does not confirm it."""
        await end_at_nodes(self._clients, end, within=within)

    def start(self, tasks: Supervisor, /) -> None:
        """Look at the nodes every few seconds, and at their certificates once a day."""
        tasks.every(LOOK_EVERY_SECONDS, "nodes", self.look)
        tasks.every(DAY, "certificates of nodes", self._warn_of_expiry)

    async def stop(self) -> None:
        """Leave the nodes."""
        await asyncio.gather(*(client.disconnect() for client in self._clients))

    async def look(self) -> None:
        """Ask all nodes for their time, which also shows whether they are there."""
        await asyncio.gather(*(self._look_at(i) for i in range(len(self._clients))))
        warnings = {
            (kind, number): warning
            for kind, found in (
                ("room", self.room_warnings()),
                ("clock", self.clock_warnings()),
                ("version", self.version_warnings()),
            )
            for number, warning in found.items()
        }
        # By what they are about: an offset is another number each time.
        for about in warnings.keys() - self._said:
            log.warning(warnings[about], extra={"fields": {"cluster": self.name}})
        self._said = {*warnings}

    async def _look_at(self, node: int) -> None:
        client = self._clients[node]
        try:
            await client.compare_clocks(within=LOOK_SECONDS)
            here = True
        except (TacitError, TimeoutError, OSError) as error:
            if isinstance(error, TimeoutError):
                client.give_up()  # it hangs, and a new link may not
            here = False
        if here != self._reachable[node]:
            fields = {"cluster": self.name, "node": node, "reachable": here}
            log.info("node seen" if here else "node lost", extra={"fields": fields})
        self._reachable[node] = here
        if here:
            self._last_seen[node] = time.time()

    @property
    def delay(self) -> float:
        """Seconds that messages between the nodes travel, by the longest way that they tell of."""
        told = (client.round_trip or 0.0 for client in self._clients)
        return min(MOST_DELAY_SECONDS, max(0.0, *told) / 2)

    def clock_warnings(self) -> dict[int, str]:
        """A sentence for each node whose clock is off, by its number."""
        return {
            client.number: f"the clock of {client.name} is {abs(offset):.1f} s "
            f"{'ahead of' if offset > 0 else 'behind'} the platform's; set both by NTP"
            for client in self._clients
            if (offset := client.clock_offset) is not None and abs(offset) > CLOCK_TOLERANCE_SECONDS
        }

    def version_warnings(self) -> dict[int, str]:
        """A sentence for each node that speaks another version of the protocol, by its number."""
        return {
            client.number: f"{client.name} speaks another version of the nodes' protocol than this "
            "platform; install the same release of tacit on both"
            for client in self._clients
            if client.is_other_version
        }

    def room_warnings(self) -> dict[int, str]:
        """A sentence for each node that has little room left for this platform, by its number."""
        return {
            client.number: f"{client.name} has little room left for us ({client.scarcest}); end or "
            "cancel runs, or ask its operator"
            for client in self._clients
            if client.room_used is not None and client.room_used >= WARN_PART
        }

    def _certificates_expire(self) -> list[float]:
        """Those of the nodes, then that of the platform towards them."""
        folder = Path(self._config.folder)
        nodes = [read_certificate(folder / node.certificate) for node in self._config.nodes]
        own = read_certificate(folder / self._config.certificate)
        return [*(last_expires(pem) for pem in nodes), expires(own)]

    def expiry_warnings(self) -> list[str]:
        """A sentence for each certificate that has expired or will soon."""
        names = [*(client.name for client in self._clients), "the platform"]
        when = dict(zip(names, self._certificates_expire(), strict=True))
        return list(expiry_warnings(when, time.time()).values())

    def _warn_of_expiry(self) -> None:
        for warning in self.expiry_warnings():
            log.warning(warning, extra={"fields": {"cluster": self.name}})

    def status(self, *, running: int = 0, waiting: int = 0) -> ClusterView:
        """As last seen."""
        *expire, own = self._certificates_expire()
        nodes = [
            NodeView(
                host=terms.host,
                port=terms.port,
                signing_key=terms.signing_key,
                certificate=terms.certificate,
                reachable=here,
                clock_offset_seconds=client.clock_offset,
                certificate_expires=at,
                last_seen=seen,
                round_trip_seconds=client.round_trip,
                room_used=client.room_used,
                scarcest=client.scarcest or None,
            )
            for terms, client, here, at, seen in zip(
                node_terms(self._config),
                self._clients,
                self._reachable,
                expire,
                self._last_seen,
                strict=True,
            )
        ]
        return ClusterView(
            name=self.name,
            nodes=nodes,
            slots=self.slots,
            running=running,
            waiting=waiting,
            certificate_expires=own,
        )
