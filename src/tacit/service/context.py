"""What belongs together in one service process."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.service.access.rate_limit import RateLimit
from tacit.service.events import Announcer
from tacit.service.execution.port import Execution
from tacit.service.settings import Settings
from tacit.service.storage import Database


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
