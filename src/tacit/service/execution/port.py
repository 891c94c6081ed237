"""Define what the platform's API may request of its execution.

One `Execution` per process with an API, on its event loop. What is to be done for a run follows
from its row in the database, which callers change first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tacit.client import CarriedLogs, ClusterView

if TYPE_CHECKING:
    from tacit.service.server.metrics import ServiceMetrics
    from tacit.supervisor import Supervisor


class Execution(Protocol):
    """Executes runs, here or elsewhere. Nothing here takes long to return."""

    @property
    def metrics(self) -> ServiceMetrics:
        """The figures of this process; others may count here too."""

    @property
    def tasks(self) -> Supervisor:
        """The background tasks of this process; others may add theirs. They end with `stop`."""

    async def start(self) -> None:
        """Begin to work."""

    async def stop(self) -> None:
        """End; what runs here goes on elsewhere, or after a restart."""

    async def cluster_for_new_run(self) -> str:
        """The name of the least loaded cluster."""

    def clusters(self) -> list[ClusterView]:
        """All clusters, as last seen."""

    async def changed(self, run_id: str, /) -> None:
        """A run was changed: what is to be done for it now need not wait for the next look."""

    async def fetch_logs(
        self, run_id: str, nonce: bytes, /, *, heads_only: bool = False
    ) -> CarriedLogs:
        """The nodes' logs, signed for this nonce; a `TacitError` if a node is away.

        With `heads_only` come the heads of the logs without their lines, as receipts.
        """
