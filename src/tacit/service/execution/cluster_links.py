"""The main process's own links to a cluster: for handing over, for logs, to see who is there."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import msgspec

from tacit.engine.agreement import Agreement
from tacit.engine.coordinator import Coordinator, NodeClient
from tacit.engine.identity import CertificateFiles, load_cluster_config, read_certificate
from tacit.engine.local import node_terms
from tacit.errors import TacitError
from tacit.mpc import party_name
from tacit.service.execution.port import ClusterStatus, NodeStatus

LOOK_EVERY_SECONDS = 5.0
LOOK_SECONDS = 2.0
CLOCK_TOLERANCE_SECONDS = 2.0
"""Clocks that differ by more are worth a warning: agreements expire by the nodes' own."""
log = logging.getLogger("tacit.service.execution")


class ClusterLinks:
    """One link to each node of a cluster, shared by all runs that are being handed over."""

    def __init__(self, name: str, file: Path, /, *, slots: int) -> None:
        self.name, self.file, self.slots = name, file, slots
        config = load_cluster_config(file)
        folder = Path(config.folder)
        pinned = {
            party_name(i): read_certificate(folder / node.certificate)
            for i, node in enumerate(config.nodes)
        }
        identity = CertificateFiles(folder / config.certificate, folder / config.tls_key).identity(
            pinned
        )
        self._terms = node_terms(config)
        self._clients = [
            NodeClient(i, node.address, identity, config.delay_ms)
            for i, node in enumerate(config.nodes)
        ]
        self._reachable = [False] * len(self._clients)
        self._watching: asyncio.Task[None] | None = None

    def coordinator(self, agreement: Agreement, /) -> Coordinator:
        """A coordinator on these links; it must not be closed."""
        return Coordinator(agreement, self._clients)

    def start(self) -> None:
        """Look at the nodes every few seconds."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Leave the nodes."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await asyncio.gather(*(client.disconnect() for client in self._clients))

    async def _watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self) -> None:
        """Ask all nodes for their time, which also shows whether they are there."""
        await asyncio.gather(*(self._look_at(i) for i in range(len(self._clients))))

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

    def clock_warnings(self) -> list[str]:
        """A sentence for each node whose clock is off."""
        return [
            f"the clock of {client.name} is {abs(offset):.1f} s "
            f"{'ahead of' if offset > 0 else 'behind'} the platform's; set both by NTP"
            for client in self._clients
            if (offset := client.clock_offset) is not None and abs(offset) > CLOCK_TOLERANCE_SECONDS
        ]

    def status(self, *, running: int, waiting: int) -> ClusterStatus:
        """As last seen."""
        nodes = tuple(
            NodeStatus(
                **msgspec.structs.asdict(terms),
                reachable=here,
                clock_offset_seconds=client.clock_offset,
            )
            for terms, client, here in zip(self._terms, self._clients, self._reachable, strict=True)
        )
        return ClusterStatus(
            name=self.name, nodes=nodes, slots=self.slots, running=running, waiting=waiting
        )
