"""What this machine refuses to sign, and what it keeps before a signature leaves it."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement, Series, canonical
from tacit.errors import TrustError
from tacit.identity import Keys
from tacit.participant import Trust, sign
from tacit.participant.reviewing import (
    Review,
    _own_refusals,
    check_is_expected,
    check_keys,
    keep_reviewed,
    refusals_of_pattern,
    series_refusals,
)
from tacit.participant.series_records import (
    check_not_stopped,
    followed_runs,
    keep_run,
    keep_series,
    stop_following,
    unseen_runs,
)
from tacit.participant.series_review import review_series
from tacit.participant.trust import seen_trust, trust_refusals
from tests.agreement.made_series import run_of, series_like
from tests.on_nodes.fixtures import example_cast
from tests.participant.made_profile import OWNER, RUN, MadeProfile, Runs, made_profile

CAST = example_cast()
AGREEMENT = CAST.agreement
SERIES = "s-abcdefghij"
OTHER = Keys.new("other").signing_public


@pytest.fixture
def runs() -> Runs:
    return Runs(CAST)


@pytest.fixture
def profile(tmp_path: Path, runs: Runs) -> MadeProfile:
    return made_profile(tmp_path, SimpleNamespace(runs=runs), CAST)


# Keys.


def test_every_key_is_a_pinned_one() -> None:
    whole = seen_trust(AGREEMENT)
    assert trust_refusals(AGREEMENT, whole) == []
    first, *others = whole.node

    def refused(trust: Trust, *, own: str | None = None) -> str:
        return "; ".join(trust_refusals(AGREEMENT, trust, own=own))

    assert "node 0 at 127.0.0.1:9000 is not among" in refused(replace(whole, node=others))
    another = replace(first, signing_key=OTHER)
    assert "node 0 at 127.0.0.1:9000 has another signing key" in refused(
        replace(whole, node=[another, *others])
    )
    another = replace(first, certificate="ab" * 32)
    assert "another certificate" in refused(replace(whole, node=[another, *others]))
    # Whoever has pinned no certificate leaves it open.
    assert refused(replace(whole, node=[replace(first, certificate=None), *others])) == ""
    assert "'owner' is not among" in refused(replace(whole, participant=[]))
    assert refused(replace(whole, participant=[]), own=OWNER) == ""
    pinned = replace(whole.participant[0], signing_key=OTHER)
    assert "'owner' has another key" in refused(replace(whole, participant=[pinned]), own=OWNER)


def test_without_pinned_keys_the_platform_is_believed_only_if_that_is_said() -> None:
    refusals: list[str] = []
    assert check_keys(AGREEMENT, None, refusals, own=OWNER, unpinned=False) == []
    assert "nobody but the platform" in refusals[0]
    refusals = []
    assert check_keys(AGREEMENT, None, refusals, own=OWNER, unpinned=True)
    assert refusals == []


# Agreements.


def pattern_refusals(profile: MadeProfile, agreement: Agreement) -> str:
    return "; ".join(refusals_of_pattern(profile, agreement))


def test_an_agreement_fits_this_participant(profile: MadeProfile) -> None:
    derived = replace(AGREEMENT, search=replace(AGREEMENT.search, populations="derived"))
    assert "chooses what is evaluated" not in pattern_refusals(profile, derived)
    assert "chooses what is evaluated" in pattern_refusals(profile, AGREEMENT)
    mine = replace(AGREEMENT.participants[0], signing_key=OTHER)
    assert "another key under your name" in pattern_refusals(
        profile, replace(derived, participants=[mine])
    )
    assert "not among its participants" in pattern_refusals(
        profile, replace(derived, participants=[replace(mine, name="somebody")])
    )
    past = replace(derived.limits, expires=int(time.time()) - 1)
    assert "it has expired" in pattern_refusals(profile, replace(derived, limits=past))


def test_one_agreement_is_signed_for_a_run(profile: MadeProfile) -> None:
    def refused(agreement: Agreement) -> bool:
        found = _own_refusals(profile, RUN, agreement, is_sound=True)
        return any("signed another agreement" in each for each in found)

    assert not refused(AGREEMENT)
    profile.keep_agreement(RUN, AGREEMENT)
    assert not refused(AGREEMENT)
    assert refused(replace(AGREEMENT, nonce="ab" * 16))


def reviewed(agreement: Agreement = AGREEMENT, **changes: Any) -> Review:
    return Review(RUN, "a run", "invited", agreement, OWNER, pinned=True, **changes)


def test_what_is_signed_is_kept_before_the_signature_leaves(
    profile: MadeProfile, runs: Runs
) -> None:
    kept: list[bytes | None] = []
    runs.before_it_counts = lambda: kept.append(profile.read(RUN, "agreement.json"))
    sign(profile, RUN, seen=reviewed())
    assert kept == [canonical(AGREEMENT)]
    with pytest.raises(TrustError, match="do not sign"):
        sign(profile, RUN, seen=reviewed(refusals=["it is Friday"]))
    assert len(kept) == 1


def test_a_run_of_a_series_is_in_its_record_before_the_signature_leaves(
    profile: MadeProfile, runs: Runs, series: Series
) -> None:
    taken: list[int] = []
    runs.before_it_counts = lambda: taken.extend(
        each.number for each in followed_runs(profile, SERIES)
    )
    sign(profile, RUN, seen=reviewed(run_of(series, AGREEMENT, 7)))
    assert taken == [7]


def test_unseen_is_signed_what_was_read_and_nothing_that_begins_like_it() -> None:
    seen = reviewed()
    check_is_expected(seen, seen.hash.upper())
    for other in (None, seen.hash[:16] + "0" * 48, "ab" * 32):
        with pytest.raises(TrustError):
            check_is_expected(seen, other)


def test_keys_are_pinned_only_with_an_agreement_that_may_be_signed(profile: MadeProfile) -> None:
    trust = seen_trust(AGREEMENT)
    keep_reviewed(profile, reviewed(refusals=["another key"]), trust=trust)
    assert not profile.trust_file.exists()
    keep_reviewed(profile, reviewed(), trust=trust)
    assert profile.trust_file.exists()


# Series.


@pytest.fixture
def series(profile: MadeProfile) -> Series:
    made = series_like(AGREEMENT)
    keep_series(profile, SERIES, made)
    return made


def test_a_run_is_within_pace_numbers_and_time_of_its_series(
    profile: MadeProfile, series: Series
) -> None:
    def refused(number: int, *, nonce: str = "ab" * 16, deadline: float = 60.0) -> str:
        run = run_of(series, AGREEMENT, number, nonce=nonce)
        found = series_refusals(profile, "r-new", run, deadline_seconds=deadline)
        return "; ".join(found)

    assert "60 s were agreed on" not in refused(1)
    assert "gives it 61 s, and 60 s were agreed on" in refused(1, deadline=61.0)
    for number in (1, 3):
        keep_run(profile, f"r-{number}", run_of(series, AGREEMENT, number))
    assert "number 3 of the series was used" in refused(3)
    assert "run 3 of the series was taken already" in refused(2)
    assert "in the last 23.5 hours" not in refused(4)
    keep_run(profile, "r-4", run_of(series, AGREEMENT, 4))
    assert "in the last 23.5 hours" in refused(5)


def test_marks_of_a_run_are_only_added(profile: MadeProfile, series: Series) -> None:
    run = run_of(series, AGREEMENT, 1)
    keep_run(profile, RUN, run, checked=True, stored=True)
    keep_run(profile, RUN, run)
    (record,) = followed_runs(profile, SERIES)
    assert (record.checked, record.stored) == (True, True)


def test_runs_that_took_costs_count_as_unseen_until_their_logs_are_checked(
    profile: MadeProfile, series: Series
) -> None:
    for number in (1, 2, 3):
        run = run_of(series, AGREEMENT, number)
        profile.keep_agreement(f"r-{number}", run)
        keep_run(profile, f"r-{number}", run, checked=number == 3)
        if number > 1:
            profile.keep_manifest(f"r-{number}", 0, b"{}")
    assert unseen_runs(profile, SERIES) == ["r-2"]
    assert unseen_runs(profile, SERIES, seen=["r-2"]) == []


def test_after_a_contradiction_nothing_is_followed_until_somebody_has_looked(
    profile: MadeProfile, series: Series
) -> None:
    check_not_stopped(profile, SERIES)
    stop_following(profile, SERIES, "run 3 lies")
    with pytest.raises(TrustError, match="run 3 lies"):
        check_not_stopped(profile, SERIES)


def test_a_series_is_signed_once_as_it_was_and_under_one_name(
    profile: MadeProfile, series: Series
) -> None:
    shown = {"document": series}
    profile.platform.series = SimpleNamespace(
        show=lambda _: SimpleNamespace(state="invited"),
        document=lambda _: canonical(shown["document"]),
    )

    def refused(name: str) -> str:
        return "; ".join(review_series(profile, name, trust=seen_trust(AGREEMENT)).refusals)

    assert "signed" not in refused(SERIES)
    assert f"signed this very series as {SERIES}" in refused("s-bbbbbbbbbb")
    shown["document"] = replace(series, nonce="cd" * 16)
    assert "signed another series under this name" in refused(SERIES)
