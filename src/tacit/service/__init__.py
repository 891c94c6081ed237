"""The platform: HTTP API, storage, and what runs behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.service.dashboard.drafts import uploaded, usual_terms
    from tacit.service.demo import DemoResult, run_demo
    from tacit.service.execution.priority import come_first
    from tacit.service.local_platform import LocalPlatform
    from tacit.service.server.backup import back_up, restore
    from tacit.service.server.serve import serve, serve_api, work
    from tacit.service.server.settings import (
        Settings,
        hidden_from_a_unit,
        load_settings,
        rotated_website,
        write_settings,
    )
    from tacit.service.server.status import ServiceStatus, service_status
    from tacit.service.storage import Database, create_account, find_account
    from tacit.service.workflow.evidence import record_run
    from tacit.service.workflow.inviting import invitation_file
else:
    __getattr__ = lazily(__name__)
