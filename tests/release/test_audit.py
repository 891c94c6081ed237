"""An audit says what it could not ask; silence is not a clean bill."""

from __future__ import annotations

import json

import pytest
from release.audit import audit, read_answer
from release.locks import lock_file

CLEAN = {"name": "rich", "version": "15.0.0", "vulns": []}
FAULTY = {"name": "x", "version": "1", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
SKIPPED = {"name": "cffi", "skip_reason": "Dependency not found and could not be audited"}


@pytest.mark.processes
def test_a_service_that_cannot_be_reached_is_no_clean_bill(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")
    answer = audit(lock_file("build"))
    assert answer.failure
    assert not answer.vulnerable
    assert answer.words().startswith("NOT AUDITED: the vulnerability service could not be asked")


def test_what_the_service_does_not_know_was_not_audited() -> None:
    answer = read_answer(json.dumps({"dependencies": [SKIPPED]}), "No known vulnerabilities found")
    assert answer.words() == "NOT AUDITED: the service knows none of the 1 packages"
    answer = read_answer(json.dumps({"dependencies": [CLEAN, SKIPPED]}), "")
    assert answer.words() == "1 packages audited: no known vulnerability; NOT AUDITED: cffi"


def test_faults_are_named() -> None:
    answer = read_answer(json.dumps({"dependencies": [CLEAN, FAULTY]}), "")
    assert answer.vulnerable == ["x 1: PYSEC-1", "x 1: PYSEC-2"]
    assert answer.words() == "2 packages audited: x 1: PYSEC-1, x 1: PYSEC-2"


def test_without_pip_audit_nothing_was_audited() -> None:
    answer = read_answer("", "python: No module named pip_audit")
    assert answer.words().endswith("(python: No module named pip_audit)")
