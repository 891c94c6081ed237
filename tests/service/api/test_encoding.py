"""The OpenAPI document against the API: whatever fits the one, the other answers as documented.

Schemathesis draws requests that fit the document and requests that do not; the names of runs are
those of runs in all states, so that routes are reached behind their gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tacit.service.access.credentials import issue_token
from tacit.service.access.permissions import PERMISSIONS
from tacit.service.api.gate import RUN_ID, SERIES_ID
from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tests.service.stand_in import StandIn
from tests.service.world import API, World, opened

ENDLESS = {("GET", "/events"), ("GET", "/runs/{run_id}/events")}
TAKE_NOTHING = {
    ("DELETE", "/me/token"),
    *(("GET", path) for path in ("/clusters", "/health", "/me", "/me/notifications", "/metrics")),
    ("POST", "/me/notifications/test"),
}
"""Neither a body nor a part of the path: there is nothing to get wrong."""
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
CASES = [
    pytest.param(endpoint, mode, id=f"{' '.join(endpoint)}-{mode.value}")
    for endpoint in sorted(set(PERMISSIONS) - ENDLESS)
    for mode in (POSITIVE, NEGATIVE)
    if mode is POSITIVE or endpoint not in TAKE_NOTHING
]
CHECKS = [
    schemathesis.checks.not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def world(module_settings: Settings) -> Iterator[World]:
    with opened(make_app(module_settings, execution=StandIn)) as made:
        made.add("op", "operator")
        made.series_id = made.agreed_series()
        yield made


@pytest.fixture(scope="module")
def runs(world: World) -> list[str]:
    return [
        world.draft(),
        world.invited(),
        world.agreed(),
        world.submitted(),
        world.ended("running"),
        world.ended("finished"),
        world.ended("interrupted"),
    ]


@pytest.fixture(scope="module")
def document(world: World) -> Any:
    """Without its demand for a token, which every request here has; test_gate.py has none."""
    whole = deepcopy(world.app.openapi())
    for operations in whole["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return schemathesis.openapi.from_dict(whole)


def send(world: World, case: Case[Any], role: str) -> Any:
    asked = case.as_transport_kwargs(base_url="http://platform")
    asked.pop("cookies", None)
    if "data" in asked:
        asked["content"] = asked.pop("data")
    with world.platform.database.writing() as session:
        token, _ = issue_token(session, role, days=1)
    headers = {
        k: str(v).encode("latin-1", "replace") for k, v in dict(asked.pop("headers")).items()
    }
    headers["Authorization"] = f"Bearer {token}".encode()
    return world.request(asked.pop("method"), asked.pop("url"), headers=headers, **asked)


@pytest.mark.parametrize(("endpoint", "mode"), CASES)
@pytest.mark.slow
def test_answers_are_as_documented(
    world: World,
    runs: list[str],
    document: Any,
    endpoint: tuple[str, str],
    mode: GenerationMode,
) -> None:
    method, path = endpoint
    operation = document[API + path][method]
    role = "op" if "operator" in PERMISSIONS[endpoint] else "north"
    takes_nothing = not (operation.body or operation.path_parameters or operation.query)
    assert takes_nothing == (endpoint in TAKE_NOTHING)
    examples = 3 if takes_nothing else 8

    @given(case=operation.as_strategy(generation_mode=mode), run_id=st.sampled_from(runs))
    @settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )
    def answers(case: Case[Any], run_id: str) -> None:
        if re.fullmatch(RUN_ID, str((case.path_parameters or {}).get("run_id"))):
            case.path_parameters["run_id"] = run_id
        if re.fullmatch(SERIES_ID, str((case.path_parameters or {}).get("series_id"))):
            case.path_parameters["series_id"] = world.series_id
        answer = send(world, case, role)
        checks = [*CHECKS, negative_data_rejection] if mode is NEGATIVE else CHECKS
        case.validate_response(answer, checks=checks)
        assert answer.is_success or set(answer.json()) == {"error", "message"}

    answers()


def test_the_document_names_every_endpoint_and_asks_for_a_token(world: World) -> None:
    document = world.request("GET", f"{API}/openapi.json").json()
    for method, path in PERMISSIONS:
        operation = document["paths"][API + path][method.lower()]
        assert bool(operation.get("security")) == ("anonymous" not in PERMISSIONS[method, path])
        assert operation["description"]
