"""Times as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.runs import parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("30", 30.0),
        ("0.5", 0.5),
        ("1.5s", 1.5),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("1h2m3s4ms", 3723.004),
        (" 1 M 30 S ", 90.0),
        ("0m1s", 1.0),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "s", "1x", "-3s", "1e3s", "1.s", ".5s", "1m30", "30 s please", "1,5s"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="is not a time; write it like 30s, 2m"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0", "0s", "0.0ms", "0h0m"])
def test_no_time_at_all_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="leaves no time at all"):
        parse_duration(text)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_parts_add_up(hours: int, minutes: int, seconds: int, milliseconds: int) -> None:
    total = 3600 * hours + 60 * minutes + seconds + milliseconds / 1000
    text = f"{hours}h{minutes}m{seconds}s{milliseconds}ms"
    if total == 0:
        with pytest.raises(ParameterError):
            parse_duration(text)
    else:
        assert parse_duration(text) == pytest.approx(total)


@given(st.floats(0.001, 300_000))
def test_what_is_shown_reads_back_as_precisely_as_it_was_shown(seconds: float) -> None:
    precision = 0.0005 if seconds < 1 else 0.05 if seconds < 60 else 0.5 if seconds < 3600 else 60
    assert parse_duration(show_duration(seconds)) == pytest.approx(seconds, abs=precision * 1.001)


@pytest.mark.parametrize("seconds", [1, 2, 30, 59, 60, 61, 90, 600, 3599])
def test_whole_seconds_below_an_hour_round_trip(seconds: int) -> None:
    assert parse_duration(show_duration(seconds)) == seconds


@given(st.text(alphabet="0123456789.hms ", max_size=10))
def test_any_text_is_read_as_a_positive_time_or_refused(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ParameterError:
        return
    assert seconds > 0
