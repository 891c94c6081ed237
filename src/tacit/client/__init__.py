"""The platform's API as Python: typed, with one tree of errors, the same for everybody.

Operators' commands, participants, the demo and the tests all talk to a platform through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.client.accounts import Accounts
    from tacit.client.certificates import (
        certificate_fingerprint,
        certificate_to_pin,
        checked_url,
        platform_address,
        tls_context,
    )
    from tacit.client.connection import Connection
    from tacit.client.events import RunEvent
    from tacit.client.invitation_file import SUFFIX, InvitationFile, read_invitation
    from tacit.client.notifications import Notifications, NotificationsView, WebhookView
    from tacit.client.platform_client import PlatformClient
    from tacit.client.runs import Runs
    from tacit.client.series import SeriesOfRuns
    from tacit.client.shapes import (
        Account,
        CarriedLog,
        CarriedLogs,
        CarriedManifest,
        Cluster,
        Health,
        Invited,
        InvitedRun,
        Joined,
        Me,
        Member,
        Node,
        PartOfNode,
        Parts,
        Plan,
        Progress,
        PublicWeights,
        RunResult,
        RunSummary,
        RunView,
        SeriesRun,
        SeriesSummary,
        SeriesView,
        SubmittedRows,
    )
    from tacit.client.signed_webhooks import check_webhook, webhook_signature
else:
    __getattr__ = lazily(__name__)
