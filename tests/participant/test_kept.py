"""What this machine keeps of what it sealed, saw and was shown, and what contradicts that."""

from __future__ import annotations

import secrets
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tacit.agreement import Manifest, PlanHeads, canonical
from tacit.client import CarriedLog, RunResult, SubmittedRows
from tacit.client.models import Plan
from tacit.errors import FileError, InputError, LogError, TrustError
from tacit.participant import new_key_file, profile, submit
from tacit.participant.checking import _verify, check_bundle_here
from tacit.participant.leakage_budget import load_hashes
from tacit.participant.receipts import check_receipts, fetch_receipts, keep_receipts, keep_seen
from tacit.participant.results import result, shown_before
from tacit.records import line_hash
from tacit.records.log import sign_head
from tacit.verify import write_bundle
from tests.on_nodes.fixtures import example_cast
from tests.participant.made_profile import OWNER, RUN, WEIGHTS, MadeProfile, Runs, made_profile
from tests.verify.test_bundle import CAST as BUNDLED
from tests.verify.test_bundle import made as made_bundle

CAST = example_cast()


@pytest.fixture
def runs() -> Runs:
    return Runs(CAST)


@pytest.fixture
def signed(tmp_path: Path, runs: Runs) -> MadeProfile:
    """Somebody who has signed, and sealed nothing yet."""
    made = made_profile(tmp_path, SimpleNamespace(runs=runs), CAST)
    made.keep_agreement(RUN, CAST.agreement)
    return made


# Costs.


def test_costs_are_sealed_under_the_agreement_that_was_signed(
    signed: MadeProfile, runs: Runs
) -> None:
    runs.shown = canonical(replace(CAST.agreement, nonce="ab" * 16))
    with pytest.raises(TrustError, match="another agreement"):
        submit(signed, RUN, WEIGHTS)
    with pytest.raises(TrustError, match="has signed nothing"):
        submit(signed, "r-bbbbbbbbbb", WEIGHTS)
    assert runs.handed_in == 0


def test_what_is_sealed_is_kept_before_it_leaves(signed: MadeProfile, runs: Runs) -> None:
    kept: list[bool] = []
    runs.before_it_counts = lambda: kept.extend(
        [bool(signed.manifests(RUN, 0)), load_hashes(signed, RUN, 0) is not None]
    )
    submit(signed, RUN, WEIGHTS)
    assert kept == [True, True]


def test_rows_are_sealed_once_and_by_this_machine(signed: MadeProfile, runs: Runs) -> None:
    submit(signed, RUN, WEIGHTS)
    for state in ("waiting", "accepted"):
        runs.held = [replace(runs.held[0], state=state)]
        assert submit(signed, RUN, WEIGHTS).earlier
    assert runs.handed_in == 1
    # Rows that the nodes refused are sealed anew, and the earlier manifest is not forgotten.
    runs.held = [replace(runs.held[0], state="refused")]
    assert not submit(signed, RUN, WEIGHTS).earlier
    # Its version voids the earlier one, whoever shows that.
    sealed = [msgspec.json.decode(each, type=Manifest) for each in signed.manifests(RUN, 0)]
    assert [each.version for each in sealed] == [1, 2]
    runs.held = [SubmittedRows(0, "waiting", None, ["ab" * 32] * 3)]
    with pytest.raises(TrustError, match="did not seal"):
        submit(signed, RUN, WEIGHTS)


def test_costs_of_another_run_are_sealed_only_if_that_is_said(
    signed: MadeProfile, runs: Runs
) -> None:
    submit(signed, RUN, WEIGHTS)
    other = replace(CAST.agreement, nonce="ab" * 16)
    signed.keep_agreement("r-bbbbbbbbbb", other)
    runs.shown, runs.held = canonical(other), []
    with pytest.raises(InputError, match="sealed before"):
        submit(signed, "r-bbbbbbbbbb", WEIGHTS)
    assert submit(signed, "r-bbbbbbbbbb", WEIGHTS, again=True).repeated


# The folder.


@pytest.mark.parametrize("name", ["../other", "r-1/../../x", "", "r-1\n", "/etc"])
def test_no_name_leads_out_of_the_folder(signed: MadeProfile, name: str) -> None:
    with pytest.raises(InputError):
        signed.run_folder(name)
    with pytest.raises(InputError):
        new_key_file(f"{name}/..", signed.folder)


def test_an_agreement_that_others_can_write_is_none(signed: MadeProfile) -> None:
    path = signed.run_folder(RUN) / "agreement.json"
    path.chmod(0o666)
    with pytest.raises(FileError, match="600"):
        signed.need_signed_agreement(RUN)


def test_nobody_joins_as_somebody_else(
    signed: MadeProfile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Client:
        def __init__(self, *_: Any, **__: Any) -> None: ...
        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None: ...
        def join(self, _code: str, **_: Any) -> Any:
            return SimpleNamespace(account="south", token="tct_x", expires=1e12)

    monkeypatch.setattr(profile, "PlatformClient", Client)
    with pytest.raises(TrustError, match="says that you are 'south'"):
        profile.join("https://x.example", "tci_a", profile=tmp_path)
    assert not (tmp_path / "profile.json").exists()
    signed.save()
    with pytest.raises(FileError, match="has the profile of"):
        profile.join("https://other.example", "tci_a", profile=tmp_path)


# Receipts and logs.


def carried(node: int, nonce: bytes, *lines: bytes, seconds: int = 100) -> CarriedLog:
    """A log as the platform brings it, signed for a nonce."""
    head = line_hash(lines[-1])
    signed = sign_head(CAST.nodes[node].signing, head, nonce=nonce, seconds=seconds)
    log = b"".join(line + b"\n" for line in lines)
    return CarriedLog(node, log, seconds, nonce.hex(), signed.hex(), head)


def test_a_receipt_answers_the_question_that_was_asked(signed: MadeProfile) -> None:
    old = secrets.token_bytes(32)
    asked: list[bytes] = []

    def logs(_run: str, nonce: bytes, *, heads_only: bool) -> Any:
        asked.append(nonce)
        answers = [carried(0, nonce, b"one"), carried(1, old, b"one")]
        return SimpleNamespace(logs=answers)

    client: Any = SimpleNamespace(runs=SimpleNamespace(logs=logs))
    assert [fetch_receipts(signed, client, RUN) for _ in range(2)] == [1, 1]
    assert asked[0] != asked[1]


def test_a_log_has_every_head_that_was_kept_of_it(signed: MadeProfile) -> None:
    nonce = bytes(32)
    keep_receipts(signed, RUN, [carried(0, nonce, b"one", b"two")])
    assert check_receipts(signed, RUN, carried(0, nonce, b"one", b"two", b"three")) == 1
    with pytest.raises(LogError, match="set back"):
        check_receipts(signed, RUN, carried(0, nonce, b"one", b"other"))
    # Of another node nothing was kept; of an old log only what was signed until then counts.
    assert check_receipts(signed, RUN, carried(1, nonce, b"one")) == 0
    assert check_receipts(signed, RUN, carried(0, nonce, b"one"), until=99) == 0


def test_a_log_is_signed_for_our_own_question() -> None:
    ours, old = secrets.token_bytes(32), secrets.token_bytes(32)
    with pytest.raises(LogError, match="another question"):
        _verify(CAST.agreement, 0, carried(0, old, b"one"), ours)


def test_a_node_seals_its_part_of_a_plan_once(signed: MadeProfile) -> None:
    heads = PlanHeads(["ab", "cd"], "ef")
    keep_seen(signed, RUN, {0: {0: heads}})
    keep_seen(signed, RUN, {0: {0: heads, 1: PlanHeads(["ab", "cd"], "01")}})
    with pytest.raises(TrustError, match="node 0 has sealed another part"):
        keep_seen(signed, RUN, {0: {0: replace(heads, boxes="02")}})


# Results and bundles.


def outcome(items: list[int] | None, **changes: Any) -> RunResult:
    plan = None if items is None else Plan(items=items, named=None)
    return RunResult(plan=plan, state="finished", reason=None, **changes)


def test_a_plan_that_was_shown_is_not_forgotten(signed: MadeProfile, runs: Runs) -> None:
    said: list[RunResult] = [outcome([1, 0], proved=True), outcome(None, proved=True)]
    cast_runs: Any = runs
    cast_runs.result = lambda _: said.pop(0)
    result(signed, RUN)
    result(signed, RUN)
    shown = shown_before(signed, RUN)
    assert shown is not None
    assert shown.plan is not None
    assert shown.plan.items == [1, 0]


def test_a_plan_for_its_owners_is_shown_by_no_platform(signed: MadeProfile, runs: Runs) -> None:
    signed.keep_agreement(RUN, replace(CAST.agreement, plan="owners"))
    cast_runs: Any = runs
    cast_runs.result = lambda _: outcome([1, 0])
    with pytest.raises(TrustError, match="for its owners alone"):
        result(signed, RUN)


def test_a_bundle_is_of_the_agreement_that_was_signed_here(tmp_path: Path) -> None:
    whole = made_bundle(tmp_path)
    name, key = next(iter(BUNDLED.participants.items()))
    cast: Any = SimpleNamespace(participants={OWNER: key})
    mine: Any = made_profile(tmp_path, None, cast)
    object.__setattr__(mine, "account", name)
    mine.keep_agreement(whole.run, BUNDLED.agreement)
    checked = check_bundle_here(mine, write_bundle(whole))
    assert "inputs" in {each.about for each in checked.findings}
    fewer = SimpleNamespace(**{**vars(whole), "log_signatures": whole.log_signatures[:2]})
    some: Any = fewer
    checked = check_bundle_here(mine, write_bundle(some))
    assert "inputs" not in {each.about for each in checked.findings}
    mine.keep_agreement(whole.run, replace(BUNDLED.agreement, nonce="ab" * 16))
    with pytest.raises(TrustError, match="another agreement"):
        check_bundle_here(mine, write_bundle(whole))
