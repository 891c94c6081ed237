"""What belongs together in one service process."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.service.access.rate_limit import RateLimit
from tacit.service.api.answers import SummaryCache
from tacit.service.api.convergence import Plots
from tacit.service.execution.port import Execution
from tacit.service.server.concurrency_limit import ConcurrencyLimit
from tacit.service.server.settings import Settings
from tacit.service.storage import Database
from tacit.service.workflow.events import Announcer

LOGS_AT_ONCE, LOGS_WAIT_SECONDS = 2, 20.0
"""The logs of a cluster's nodes may be many megabytes, which pass through the platform's memory."""


def _turns_for_logs() -> ConcurrencyLimit:
    return ConcurrencyLimit("logs", at_once=LOGS_AT_ONCE, each=1, within=LOGS_WAIT_SECONDS)


@dataclass(frozen=True)
class Platform:
    """Settings, storage, events and execution; routes find it as `app.state.platform`."""

    settings: Settings
    database: Database
    announcer: Announcer
    execution: Execution
    by_account: RateLimit
    by_address: RateLimit
    """For requests without a token that counts."""
    streams: dict[str, int] = field(default_factory=dict)
    """How many event streams each account has open."""
    plots: Plots = field(default_factory=Plots)
    summaries: SummaryCache = field(default_factory=SummaryCache)
    logs: ConcurrencyLimit = field(default_factory=_turns_for_logs)
    """Whose turn it is to fetch the nodes' logs."""
