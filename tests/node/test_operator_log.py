"""Lines are JSON, and a flood of requests fills neither the log nor a line of it."""

from __future__ import annotations

import logging

from tacit.node.own_log import LOGGER, OperatorLines, shorten
from tacit.records.node_log import LineLimit


def test_a_record_is_one_line_of_json() -> None:
    record = logging.LogRecord(LOGGER, 20, "", 0, "started", None, None)
    record.fields = {"node": 1}
    assert OperatorLines().format(record).endswith('"event":"started","node":1}')


def test_lines_beyond_the_burst_are_left_out_and_counted() -> None:
    now = [0.0]
    limit = LineLimit(burst=2, per_minute=60, clock=lambda: now[0])
    assert [limit.admit() for _ in range(4)] == [0, 0, None, None]
    now[0] = 1.0
    assert limit.admit() == 2


def test_a_long_text_is_cut_and_its_length_noted() -> None:
    assert shorten("fine") == "fine"
    assert shorten("x" * 10_000).endswith("xxx... (10000 characters)")
    assert len(shorten("x" * 10_000)) < 600
