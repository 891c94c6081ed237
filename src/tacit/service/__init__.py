"""The platform: HTTP API, storage, and what runs behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.service.dashboard.drafts import uploaded, usual_terms
    from tacit.service.execution.priority import come_first
    from tacit.service.local.demo import DemoResult, run_demo
    from tacit.service.local.platform import LocalPlatform
    from tacit.service.server.new_settings import hidden_from_a_unit, write_settings
    from tacit.service.server.serve import serve
    from tacit.service.server.settings import Settings, load_settings
    from tacit.service.storage import Database, create_account, find_account
    from tacit.service.workflow.invitation_files import invitation_file
    from tacit.service.workflow.recording import record_run
else:
    __getattr__ = lazily(__name__)
