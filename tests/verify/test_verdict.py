"""A verdict needs every check, and generations must be the same everywhere."""

from __future__ import annotations

import pytest

from tacit.errors import LogError
from tacit.records.events import StartDrawn
from tacit.records.requests import Attempt
from tacit.verify.sealed import check_generations_asked
from tacit.verify.verdict import WOULD_SHOW, Finding, Verdict
from tests.verify.test_sealed import batch_begun


def test_a_verdict_is_good_only_if_every_check_was_made() -> None:
    findings = [Finding.of(about, lambda: "all well") for about in WOULD_SHOW]
    assert Verdict("r-1", "finished", findings).ok
    assert not Verdict("r-1", "finished", findings[1:]).ok


def test_a_verdict_on_four_nodes_can_be_told_in_words() -> None:
    findings = [Finding.of(about, lambda: "all well") for about in (*WOULD_SHOW, "log of node 3")]
    verdict = Verdict("r-1", "finished", findings)
    assert verdict.ok
    assert verdict.lines().count("       (would have shown the same)") == 3


def test_the_last_generations_may_have_reached_one_node_alone() -> None:
    one, two, three = batch_begun(0, 4), batch_begun(4, 2), batch_begun(4, 3)
    assert check_generations_asked([[one], [one, two], [one]]) == 6
    with pytest.raises(LogError, match="asked for different steps"):
        check_generations_asked([[one, two], [one, three]])


def test_a_plan_may_be_opened_before_the_first_step() -> None:
    start = StartDrawn(search=0, attempt=Attempt.of(0, 7, 1))
    assert check_generations_asked([[start], [start], [start]]) == 0
    with pytest.raises(LogError, match="no sealed search"):
        check_generations_asked([[], [], []])
