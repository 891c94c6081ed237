"""What the platform's API may ask of its execution, and what it gets back.

One `Execution` per service process, on its event loop. It reads and writes the database and
announces every change itself; callers store first what the call is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tacit.service.server.metrics import ServiceMetrics


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """A node as the platform last saw it."""

    host: str
    port: int
    signing_key: str
    certificate: str
    """The SHA-256 of its TLS certificate."""
    reachable: bool
    clock_offset_seconds: float | None
    """How far its clock is ahead of the platform's; None before the first answer."""
    certificate_expires: float | None = None
    """When that is, in seconds since 1970."""
    last_seen: float | None = None
    """When it last answered."""
    round_trip_seconds: float | None = None
    """There and back between it and the farthest of the other nodes, as it says."""


@dataclass(frozen=True, kw_only=True)
class ClusterStatus:
    """Nodes that work together, and how busy they are."""

    name: str
    nodes: tuple[NodeStatus, ...]
    slots: int
    """Runs at a time."""
    running: int
    waiting: int
    certificate_expires: float | None = None
    """When the certificate expires that the platform shows these nodes."""


@dataclass(frozen=True, kw_only=True)
class SignedLog:
    """A node's log of a run's agreement, signed for the nonce."""

    node: int
    log: bytes
    """Empty where only the head was asked for."""
    seconds: int
    nonce: bytes
    signature: bytes
    head: str
    """The hash of the log's last line."""


@dataclass(frozen=True, kw_only=True)
class SignedManifest:
    """Which boxes a participant sealed for an objective."""

    participant: str
    objective: int
    manifest: bytes
    signature: bytes


@dataclass(frozen=True, kw_only=True)
class LogAnswer:
    """What a participant needs to follow a run by itself."""

    logs: tuple[SignedLog, ...]
    manifests: tuple[SignedManifest, ...]
    words: dict[int, str] = field(default_factory=dict)
    """Per objective, what the nodes drew together for the search's seed."""


class Execution(Protocol):
    """Executes runs. All of it on one event loop; nothing here takes long to return."""

    @property
    def metrics(self) -> ServiceMetrics:
        """The figures of this service; others may count here too."""

    async def start(self) -> None:
        """Recover from the end of the last process, then begin to work."""

    async def stop(self) -> None:
        """End all workers; their runs are `interrupted` with their best so far."""

    async def cluster_for_new_run(self) -> str:
        """The name of the least loaded cluster."""

    def clusters(self) -> list[ClusterStatus]:
        """All clusters, as last seen."""

    async def draw_up(self, run_id: str, /) -> None:
        """Draft the agreement if all have joined, with sealing keys that the nodes draw for it.

        If a node is away this is retried, however long it takes; the run gets a warning.
        """

    async def agreed(self, run_id: str, /) -> None:
        """All have signed: hand the agreement to the nodes, however long that takes."""

    async def submission(self, run_id: str, /) -> None:
        """New sealed rows are stored: hand them to the nodes; when all are in, have them checked.

        The run becomes `submitted` then, and waits for a slot.
        """

    async def resume(self, run_id: str, /) -> None:
        """An interrupted run is `submitted` again: let it wait for a slot and go on."""

    async def cancel(self, run_id: str, reason: str, /) -> None:
        """End a run, whatever it is doing, as `cancelled`; its best so far is kept."""

    async def fetch_logs(
        self, run_id: str, nonce: bytes, /, *, heads_only: bool = False
    ) -> LogAnswer:
        """The nodes' logs, signed for this nonce; a `TacitError` if a node is away.

        With `heads_only` come the heads of the logs without their lines, as receipts.
        """
