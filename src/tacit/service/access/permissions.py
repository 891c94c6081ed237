"""Map each endpoint to the roles that may call it.

A route that is not in this table cannot be added to the API. Participants may call the endpoints
under runs and series that they take part in. Of others they learn nothing, not even whether they
exist.
"""

from __future__ import annotations

from tacit.errors import ForbiddenError

OPERATOR, PARTICIPANT, VIEWER = "operator", "participant", "viewer"
ANYBODY = frozenset({OPERATOR, PARTICIPANT, VIEWER, "anonymous"})
ANY_ROLE = frozenset({OPERATOR, PARTICIPANT, VIEWER})
OPERATORS = frozenset({OPERATOR})
PARTICIPANTS = frozenset({PARTICIPANT})
TAKES_PART = frozenset({OPERATOR, PARTICIPANT})

Endpoint = tuple[str, str]

PERMISSIONS: dict[Endpoint, frozenset[str]] = {
    ("GET", "/health"): ANYBODY,
    ("POST", "/join"): ANYBODY,
    ("GET", "/me"): ANY_ROLE,
    ("DELETE", "/me/token"): ANY_ROLE,
    ("GET", "/me/notifications"): ANY_ROLE,
    ("PUT", "/me/notifications"): ANY_ROLE,
    ("POST", "/me/notifications/test"): ANY_ROLE,
    ("POST", "/me/webhooks"): ANY_ROLE,
    ("DELETE", "/me/webhooks/{webhook}"): ANY_ROLE,
    ("GET", "/accounts"): OPERATORS,
    ("POST", "/accounts"): OPERATORS,
    ("POST", "/accounts/{name}/invitation"): OPERATORS,
    ("DELETE", "/accounts/{name}"): OPERATORS,
    ("PUT", "/accounts/{name}/mail"): OPERATORS,
    ("GET", "/clusters"): ANY_ROLE,
    ("POST", "/problems/generate"): OPERATORS,
    ("GET", "/runs"): ANY_ROLE,
    ("POST", "/runs"): OPERATORS,
    ("GET", "/runs/{run_id}"): ANY_ROLE,
    ("PUT", "/runs/{run_id}"): OPERATORS,
    ("DELETE", "/runs/{run_id}"): OPERATORS,
    ("POST", "/runs/{run_id}/invite"): OPERATORS,
    ("POST", "/runs/{run_id}/invitations/{name}"): OPERATORS,
    ("POST", "/runs/{run_id}/cancel"): OPERATORS,
    ("POST", "/runs/{run_id}/resume"): OPERATORS,
    ("GET", "/runs/{run_id}/agreement"): ANY_ROLE,
    ("GET", "/runs/{run_id}/public-weights"): ANY_ROLE,
    ("POST", "/runs/{run_id}/signature"): PARTICIPANTS,
    ("POST", "/runs/{run_id}/submission"): PARTICIPANTS,
    ("GET", "/runs/{run_id}/submission"): PARTICIPANTS,
    ("POST", "/runs/{run_id}/withdraw"): PARTICIPANTS,
    ("GET", "/runs/{run_id}/result"): ANY_ROLE,
    ("GET", "/runs/{run_id}/result.csv"): ANY_ROLE,
    ("GET", "/runs/{run_id}/parts"): PARTICIPANTS,
    ("GET", "/runs/{run_id}/progress.csv"): ANY_ROLE,
    ("GET", "/runs/{run_id}/ledger"): ANY_ROLE,
    ("POST", "/runs/{run_id}/logs"): TAKES_PART,
    ("GET", "/runs/{run_id}/bundle"): TAKES_PART,
    ("GET", "/runs/{run_id}/events"): ANY_ROLE,
    ("GET", "/series"): ANY_ROLE,
    ("POST", "/series"): OPERATORS,
    ("GET", "/series/{series_id}"): ANY_ROLE,
    ("GET", "/series/{series_id}/document"): ANY_ROLE,
    ("POST", "/series/{series_id}/signature"): PARTICIPANTS,
    ("POST", "/series/{series_id}/runs"): OPERATORS,
    ("POST", "/series/{series_id}/end"): TAKES_PART,
    ("GET", "/events"): ANY_ROLE,
    ("GET", "/metrics"): OPERATORS,
}

LARGE_BODIES: frozenset[Endpoint] = frozenset(
    {("POST", "/runs"), ("PUT", "/runs/{run_id}"), ("POST", "/runs/{run_id}/submission")}
)
"""Drafts may have public matrices, submissions are boxes; whatever else is sent is small."""


def check_role(endpoint: Endpoint, role: str, /) -> None:
    allowed = PERMISSIONS[endpoint]
    if role not in allowed:
        those = ", ".join(sorted(allowed))
        article = "an" if role == OPERATOR else "a"
        raise ForbiddenError(
            f"{article} {role} may not {endpoint[0]} {endpoint[1]}; that is for: {those}"
        )
