"""How the platform carries runs out: handing over, queueing, workers, deadlines, recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.service.execution.port import Execution
    from tacit.service.server.settings import Settings
    from tacit.service.storage import Database
    from tacit.service.workflow.events import Announcer


def make_execution(settings: Settings, database: Database, announcer: Announcer, /) -> Execution:
    """The execution of a service; the database's queries announce what they change."""
    # Here, since the port is for everybody and the rest for a service alone.
    from tacit.service.execution.executor import Executor

    del announcer
    return Executor(settings, database)
