"""The platform's API as Python: typed, with one tree of errors, the same for everybody.

Operators' commands, participants, the demo and the tests all talk to a platform through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.client.certificates import (
        SUFFIX,
        InvitationFile,
        certificate_fingerprint,
        certificate_to_pin,
        checked_url,
        given_invitation,
        pinned_if_accepted,
        platform_address,
        read_invitation,
        read_pem,
        tls_context,
    )
    from tacit.client.connection import (
        Connection,
        RunEvent,
        refusal,
    )
    from tacit.client.models import (
        ENDS,
        MOST_LISTED,
        AccountView,
        CarriedLog,
        CarriedLogs,
        CarriedManifest,
        ClusterView,
        DeliveryTest,
        ErrorAnswer,
        FoundPlans,
        Generate,
        Health,
        InvitedAccount,
        Join,
        JoinAnswer,
        ListedRun,
        ListedSeries,
        LogQuestion,
        MailChange,
        Me,
        MemberView,
        NewAccount,
        NewWebhook,
        NodeView,
        NotificationsView,
        Page,
        PartOfNode,
        Parts,
        Plan,
        PublicWeights,
        Reason,
        Role,
        RowsState,
        RunProgress,
        RunResult,
        RunState,
        RunView,
        SeriesRun,
        SeriesView,
        Signed,
        SubmissionState,
        SubmitRows,
        SubmittedRows,
        WebhookView,
        check_finished,
    )
    from tacit.client.platform_client import (
        AccountsApi,
        NotificationsApi,
        PlatformClient,
        RunsApi,
        SeriesApi,
    )
    from tacit.client.terms import (
        MOST_CELLS,
        EquitySettings,
        LimitTerms,
        NextRun,
        Part,
        ProblemTerms,
        RunObjective,
        RunTerms,
        ScheduleTerms,
        SeriesTerms,
        VaryingTerms,
        checked,
        converted,
        plain_trouble,
        read_request,
    )
    from tacit.client.webhooks import check_webhook, webhook_signature
else:
    __getattr__ = lazily(__name__)
