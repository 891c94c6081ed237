"""An audit says what it could not ask; silence is not a clean bill."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from release.audit import Audited, audit, read_answer, report
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
    assert "the vulnerability service could not be asked" in answer.words()
    assert answer.words().startswith("NOT AUDITED on ")


def test_what_the_service_does_not_know_was_not_audited() -> None:
    answer = read_answer(json.dumps({"dependencies": [SKIPPED]}), "No known vulnerabilities found")
    assert answer.words().startswith("NOT AUDITED on ")
    assert answer.words().endswith("the service knows none of the 1 packages")
    answer = read_answer(json.dumps({"dependencies": [CLEAN, SKIPPED]}), "")
    assert answer.words().startswith("1 packages audited with the advisories of ")
    assert answer.words().endswith(": no known vulnerability; NOT AUDITED: cffi")


def test_faults_are_named() -> None:
    answer = read_answer(json.dumps({"dependencies": [CLEAN, FAULTY]}), "")
    assert answer.vulnerable == ["x 1: PYSEC-1", "x 1: PYSEC-2"]
    assert answer.words().endswith(": x 1: PYSEC-1, x 1: PYSEC-2")


def test_without_pip_audit_nothing_was_audited() -> None:
    answer = read_answer("", "python: No module named pip_audit")
    assert answer.words().endswith("(python: No module named pip_audit)")


def test_a_release_has_the_answers_with_the_date_of_what_was_known() -> None:
    day = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    answers = {
        "node": Audited(asked=7, at=day),
        "platform": Audited(failure="no route to host", at=day),
    }
    assert report(answers, sums=b"").splitlines() == [
        "Audit of the release whose SHA256SUMS has the hash "
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "node: 7 packages audited with the advisories of 2026-03-04 05:06 UTC: no known "
        "vulnerability",
        "platform: NOT AUDITED on 2026-03-04 05:06 UTC: the vulnerability service could not be "
        "asked (no route to host)",
    ]
