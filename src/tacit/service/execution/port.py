"""Define what the platform's API may request of its execution.

One `Execution` per service process, on its event loop. It reads and writes the database and
announces every change itself; callers store first what the call is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tacit.client import CarriedLogs, ClusterView

if TYPE_CHECKING:
    from tacit.service.server.metrics import ServiceMetrics
    from tacit.supervisor import Supervisor


class Execution(Protocol):
    """Executes runs. All of it on one event loop; nothing here takes long to return."""

    @property
    def metrics(self) -> ServiceMetrics:
        """The figures of this service; others may count here too."""

    @property
    def tasks(self) -> Supervisor:
        """The background tasks of this service; others may add theirs. They end with `stop`."""

    async def start(self) -> None:
        """Recover from the end of the last process, then begin to work."""

    async def stop(self) -> None:
        """End all workers; their runs are `interrupted` with their best so far."""

    async def cluster_for_new_run(self) -> str:
        """The name of the least loaded cluster."""

    def clusters(self) -> list[ClusterView]:
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
    ) -> CarriedLogs:
        """The nodes' logs, signed for this nonce; a `TacitError` if a node is away.

        With `heads_only` come the heads of the logs without their lines, as receipts.
        """
