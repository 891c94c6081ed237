"""A node takes a run of a series if all signed the series and the run is within it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from tacit.agreement import DAY, Series, SignedSeries, sign_series
from tacit.agreement.signatures import sign_agreement
from tacit.agreement.terms import Agreement, agreement_hash, canonical
from tacit.errors import AgreementError, RefusedError
from tacit.local.engine import all_sign
from tacit.node.admission import agree
from tacit.node.series import KeptSeries
from tacit.records import RefusalKind
from tacit.records.messages import Agree
from tests.agreement.made_series import run_of, series_like
from tests.node import one_node


class Parties:
    """A node, a platform and an owner who sign one series after the other."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.key = folder, Ed25519PrivateKey.generate()
        # The agreements of `one_node` have a key of their own each; here it is one participant's.
        monkeypatch.setattr(one_node, "participant_keys", lambda names: {"owner": self.key})
        self.node = one_node.node(folder)
        self.series = self.series_of()

    def drafted(self) -> Agreement:
        agreement, _, self.platform = one_node.drafted(self.node, self.folder)
        return replace(agreement, limits=replace(agreement.limits, expires=int(time.time()) + 3000))

    def series_of(self, **changes: Any) -> Series:
        return series_like(self.drafted(), **changes)

    def signed(self, series: Series | None = None, owner: bytes = b"") -> SignedSeries:
        series = series or self.series
        return SignedSeries(canonical(series), {"owner": owner or sign_series(series, self.key)})

    def run(self, number: int, series: Series | None = None, **changes: Any) -> Agreement:
        return run_of(series or self.series, self.drafted(), number, **changes)

    def hand_over(self, agreement: Agreement, shown: SignedSeries | None = None) -> None:
        request = Agree(
            agreement=canonical(agreement),
            signatures=all_sign(agreement, {"owner": self.key}),
            series=b"" if shown is None else shown.data,
            series_signatures={} if shown is None else dict(shown.signatures),
        )
        asyncio.run(agree(self.node, request, self.platform))


@pytest.fixture
def parties(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Parties:
    return Parties(folder, monkeypatch)


def test_runs_are_taken_and_the_series_is_shown_once(parties: Parties) -> None:
    first = parties.run(1)
    parties.hand_over(first, parties.signed())
    parties.hand_over(parties.run(2))
    parties.node = one_node.node(parties.folder)  # also after a restart
    parties.hand_over(first)
    parties.hand_over(parties.run(5))
    assert agreement_hash(first) in parties.node.agreement_states


def test_a_series_that_nobody_signed_or_showed_is_not_taken(parties: Parties) -> None:
    run = parties.run(1)
    with pytest.raises(RefusedError, match="not known here"):
        parties.hand_over(run)
    with pytest.raises(AgreementError, match="'owner' has not signed this series"):
        parties.hand_over(run, parties.signed(owner=bytes(64)))
    # A signature under the run itself does not count as one under the series.
    with pytest.raises(AgreementError, match="has not signed this series"):
        parties.hand_over(run, parties.signed(owner=sign_agreement(run, parties.key)))
    with pytest.raises(RefusedError, match="another series than the one that is shown"):
        parties.hand_over(run, parties.signed(parties.series_of()))
    assert not parties.node.agreement_states


def test_a_run_outside_its_series_is_not_taken(parties: Parties) -> None:
    run = parties.run(1)
    wider = replace(run, limits=replace(run.limits, evaluations=11))
    with pytest.raises(AgreementError, match="not within its series: it allows 11 evaluations"):
        parties.hand_over(wider, parties.signed())
    parties.hand_over(run, parties.signed())
    wider = replace(parties.run(2), reveal_best=True)
    with pytest.raises(AgreementError, match="reveal best"):
        parties.hand_over(wider)
    problem = parties.run(2).problem
    # A mask that the series does not allow, whoever signed the run.
    masked = replace(problem, columns=6, forbidden=[(0, 4), (0, 5)], column_names=None)
    strict = parties.series_of(varying={"most_mask_changes": 1})
    run = parties.run(1, strict, problem=replace(masked, forbidden=[(0, 4)]))
    parties.hand_over(run, parties.signed(strict))
    with pytest.raises(AgreementError, match="mask differs from the pattern's in 2 pairs"):
        parties.hand_over(parties.run(2, strict, problem=masked))
    assert len(parties.node.agreement_states) == 2


def test_a_number_is_used_once_and_runs_go_on(parties: Parties) -> None:
    parties.hand_over(parties.run(2), parties.signed())
    with pytest.raises(RefusedError, match="number 2 of the series was used"):
        parties.hand_over(parties.run(2))
    with pytest.raises(RefusedError, match="run 2 of the series was taken already"):
        parties.hand_over(parties.run(1))


def test_no_more_runs_a_day_than_were_signed(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        parties.hand_over(parties.run(number), parties.signed())
    parties.node = one_node.node(parties.folder)
    said = "3 runs of the series were taken in the last 23.5 hours"
    with pytest.raises(RefusedError, match=said) as refused:
        parties.hand_over(parties.run(4))
    assert refused.value.kind == RefusalKind.PACE  # asked for again, and not given up
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 23.4 * 3600)
    with pytest.raises(RefusedError, match=said):
        parties.hand_over(parties.run(4))


def test_a_run_that_is_a_little_early_the_next_day_is_taken(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schedule has as many runs a day as were signed; nobody hits the same second every day."""
    begun = time.time()
    for day in range(4):
        monkeypatch.setattr("time.time", lambda day=day: begun + day * (DAY - 10))
        for time_of_day in range(3):
            parties.hand_over(parties.run(3 * day + time_of_day + 1), parties.signed())


def test_a_series_ends_and_its_folder_goes(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    parties.hand_over(parties.run(1), parties.signed())
    places = list((parties.folder / "node-0.data" / "series").iterdir())
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 30 * DAY)
    with pytest.raises(AgreementError, match="the series has expired"):
        parties.hand_over(parties.run(2))
    parties.node.tidy()
    assert places[0].exists()
    monkeypatch.setattr("time.time", lambda: now + 61 * DAY)
    parties.node.tidy()
    assert not places[0].exists()


def test_a_node_keeps_so_many_series_of_a_platform(parties: Parties) -> None:
    parties.node.series = KeptSeries(parties.folder / "node-0.data", most=2, node=0)
    for _ in range(2):
        series = parties.series_of()
        parties.hand_over(parties.run(1, series), parties.signed(series))
    series = parties.series_of()
    with pytest.raises(RefusedError, match="2 series are kept for this platform"):
        parties.hand_over(parties.run(1, series), parties.signed(series))
