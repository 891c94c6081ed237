"""A participant's machine and the chain of runs that count: another head is refused."""

from __future__ import annotations

from dataclasses import replace as replace_finding
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement, RunOfSeries, Series, agreement_hash, seal_told, series_hash
from tacit.equity import FIRST_HEAD, RunEntry, head_after
from tacit.mpc.local import deal_integers
from tacit.participant import balance_lines, checking, counted_runs, series_review
from tacit.participant.explanations import equity_words
from tacit.participant.series_records import (
    balance_of_run,
    head_refusals,
    keep_balance,
    keep_run,
    keep_series,
)
from tacit.records import RunCounted
from tacit.verify import Claim, Finding, Verdict, check_counted
from tests.agreement.made_series import series_like
from tests.agreement.test_equity import KEYS, RULES, TERMS, VARYING, plain, ranked, with_equity

SERIES = "s-abcdefghij"
ME = "participant 2"


@pytest.fixture
def profile(tmp_path: Path) -> Any:
    keys = SimpleNamespace(signing=KEYS[ME])
    return SimpleNamespace(folder=tmp_path, account=ME, keys=lambda: keys)


@pytest.fixture
def series(profile: Any) -> Series:
    terms = replace(TERMS, every=1, mean=True, spread=True)
    varying = {**VARYING, "least_participants": 3}
    made = series_like(plain(), equity=terms, varying=varying, limits=RULES)
    keep_series(profile, SERIES, made)
    return made


def run_of(series: Series, number: int, head: str) -> Agreement:
    made = with_equity(plain(), head=head, terms=series.equity)
    return replace(made, series=RunOfSeries(series_hash(series), number))


def logs_of(agreement: Agreement) -> list[list[Any]]:
    assert agreement.equity is not None
    assert agreement.series is not None
    number, opened = agreement.series.number, (("saved", 97), ("spread", 2 * 1048576))
    head = head_after(
        agreement.equity.head,
        RunEntry(
            number, "1:1", tuple(KEYS), place=number, agreement=agreement_hash(agreement).hex()
        ),
    )
    dealt = deal_integers([[84, 14, 54210560], [41, 16, -1048576], [-28, 18, 7]])
    return [
        [
            RunCounted(
                number,
                "1:1",
                list(KEYS),
                head,
                number,
                list(opened),
                seal_told(agreement, node, share),
            )
        ]
        for node, share in enumerate(dealt)
    ]


def take(profile: Any, series: Series, number: int, head: str) -> str:
    """Sign a run, and check its logs afterwards; the head after it."""
    agreement = run_of(series, number, head)
    assert head_refusals(profile, SERIES, agreement) == []
    keep_run(profile, f"r-{number}", agreement)
    keep_balance(profile, f"r-{number}", agreement, logs_of(agreement))
    return counted_runs(profile, SERIES)[-1].head


def test_what_was_told_is_kept_and_said_in_words(profile: Any, series: Series) -> None:
    agreement = run_of(series, 1, FIRST_HEAD)
    lines = keep_balance(profile, "r-1", agreement, logs_of(agreement))
    known = balance_of_run(profile, "r-1", agreement)
    assert known is not None
    assert (known.saved, known.factor, known.balance) == (41, 16, -1048576)
    assert (
        lines
        == balance_lines(known)
        == [
            "you saved 41/128 of what you could; your level was +0, so your costs counted 16/16",
            "your balance is 1.0/128 behind",
            "all saved 32.3/128 on average",
            "balances are 2.0/128 apart",
        ]
    )
    keep_balance(profile, "r-1", agreement, logs_of(agreement))
    assert len(counted_runs(profile, SERIES)) == 1


def test_each_run_follows_those_that_count(profile: Any, series: Series) -> None:
    first = take(profile, series, 1, FIRST_HEAD)
    second = take(profile, series, 2, first)

    def why(number: int, head: str) -> str:
        return " ".join(head_refusals(profile, SERIES, run_of(series, number, head)))

    assert why(3, second) == ""
    assert "set back" in why(3, FIRST_HEAD)
    assert "set back" in why(3, first)
    assert "not known here to count" in why(3, "ab" * 32)
    # Whoever looks at old logs once more knows the order all the same.
    again = run_of(series, 1, FIRST_HEAD)
    keep_balance(profile, "r-1", again, logs_of(again))
    assert (why(3, second), "set back" in why(3, first)) == ("", True)
    # Run 3 was void, or was without this machine, which cannot know then.
    assert why(4, second) == ""
    assert why(4, "ab" * 32) == ""
    # It signed run 3: whether that counts, its logs tell.
    keep_run(profile, "r-3", run_of(series, 3, second))
    assert "tacit participant log r-3" in why(4, "ab" * 32)


def test_boxes_that_do_not_open_are_said(profile: Any, series: Series) -> None:
    agreement = run_of(series, 1, FIRST_HEAD)
    logs = logs_of(agreement)
    logs[0][0] = replace(logs[0][0], boxes=["00"] * 3)
    assert "your balance was not told" in keep_balance(profile, "r-1", agreement, logs)[-1]
    assert counted_runs(profile, SERIES)[0].balance is None


def test_a_run_that_counts_and_was_never_opened_is_followed(profile: Any, series: Series) -> None:
    """The platform died just then: that is not proven to be well, and the next run follows it."""
    first = run_of(series, 1, FIRST_HEAD)
    keep_run(profile, "r-1", first)
    logs = logs_of(first)
    found = Finding.of("balances", check_counted, first, logs, Claim())
    assert found.unproven
    bad = Verdict("r-1", "failed", [replace_finding(found, unproven=False)])
    assert checking._keep_balance(profile, first, logs, bad) == []
    assert counted_runs(profile, SERIES) == []
    assert checking._keep_balance(profile, first, logs, Verdict("r-1", "failed", [found]))
    second = run_of(series, 2, logs[0][0].head)
    assert head_refusals(profile, SERIES, second) == []


def test_whoever_signs_is_told_of_balances_that_do_not_go_on(profile: Any, series: Series) -> None:
    anew = replace(series, nonce="ab" * 16)
    assert "do not go on in this one" in series_review._left_behind(profile, anew)[0]
    assert series_review._left_behind(profile, series) == []


def test_whoever_signs_is_told_what_ranks_tell_of_factors() -> None:
    sealed = with_equity(plain())
    assert "ratios of factors" not in " ".join(equity_words(sealed))
    assert "ratios of factors" in " ".join(equity_words(ranked(sealed)))
