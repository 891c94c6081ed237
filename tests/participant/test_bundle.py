"""An audit bundle of real logs of real nodes: checked offline, and noticed if it was changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit.errors import LogError, TrustError
from tacit.participant import check_logs
from tacit.participant.checking import check_bundle_here
from tacit.problems import save_problem
from tacit.records import read_ledger
from tacit.service.storage import read_run
from tacit.service.workflow import evidence
from tacit.verify import Bundle, LogSignature, check_bundle, read_bundle, write_bundle
from tests.conftest import RunTacit
from tests.on_nodes.entries import evaluations_in, labels_of
from tests.participant.conftest import World
from tests.participant.platform import RUN
from tests.support.command_line import Tacit


def fetched(world: World) -> bytes:
    with world.north.connect() as client:
        return client.runs.bundle(RUN)


def test_a_bundle_is_checked_offline(finished: World, tacit: Tacit, tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(fetched(finished))
    check_logs(finished.north, RUN).check()  # what is kept of a later log is not missed in it
    said = tacit("log", path, "--profile", finished.north.folder)
    assert said.code == 0, said
    assert "yours are as this machine sealed them" in said.out
    assert "receipts that were kept here until then" in said.out
    assert "the plan is one of its best" in said.out
    for profile in finished.profiles.values():
        assert check_bundle_here(profile, path.read_bytes()).ok
    verdict = check_bundle(read_bundle(path.read_bytes()))
    assert verdict.ok, verdict.lines()
    said_to_an_auditor = "\n".join(verdict.lines())
    assert "yours" not in said_to_an_auditor.partition("(would have shown other rows")[0]
    assert "would have shown an agreement that somebody has not signed" in said_to_an_auditor


def test_a_bundle_is_audited_by_whoever_knows_the_secret(
    finished: World, tmp_path: Path, run_here: RunTacit
) -> None:
    """It gives every candidate again: the record is the one that the platform's folder gives."""
    path, truth = tmp_path / "run.zip", tmp_path / "secret.json"
    path.write_bytes(fetched(finished))
    save_problem(finished.platform.problem, truth)
    done = run_here("audit", path, "--truth", truth, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    bundle = read_bundle(path.read_bytes())
    answers = evaluations_in(read_ledger(bundle.ledger))
    assert told["evaluations"] == len(answers) > 0
    assert told["candidates"] == sum(len(labels_of(each)) for each in answers)
    # One that leaves something out of the ledger is not audited as if that was all.
    lines = bundle.ledger.splitlines(keepends=True)
    path.write_bytes(write_bundle(replace(bundle, ledger=b"".join(lines[:-1]))))
    done = run_here("audit", path, "--truth", truth)
    assert done.returncode == 3, done.stderr
    path.write_bytes(b"PK not a bundle")
    done = run_here("audit", path, "--truth", truth)
    assert (done.returncode, "this is not an audit bundle" in done.stderr) == (3, True), done.stderr


def test_two_downloads_are_the_same(finished: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "SETTLED_SECONDS", -1.0)
    first = fetched(finished)
    again = fetched(finished)
    assert first == again
    bundle = read_bundle(first)
    assert write_bundle(bundle) == first
    public = replace(bundle, public={10: [[1, 2]], 9: [[3]]})
    assert read_bundle(write_bundle(public)) == public
    kept = finished.platform.settings.data_folder / "runs" / RUN / evidence.KEPT
    assert kept.read_bytes() == first
    kept.unlink()
    with finished.platform.database.reading() as session:
        assert (read_run(session, RUN).ended or 0) < time.time()


def _lines(log: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    return b"".join(change(log.splitlines(keepends=True)))


def _result(bundle: Bundle, **changes: Any) -> Bundle:
    told = {**msgspec.json.decode(bundle.result), **changes}
    return replace(bundle, result=msgspec.json.encode(told))


def _front(bundle: Bundle, **said: Any) -> Bundle:
    plan = msgspec.json.decode(bundle.result)["plan"]
    return _result(bundle, front=[{**plan, **said}])


CHANGES: dict[str, Callable[[Bundle], Bundle]] = {
    "a line of a log is left out": lambda b: replace(
        b, logs={**b.logs, 1: _lines(b.logs[1], lambda all_: all_[:4] + all_[5:])}
    ),
    "the end of a log is left out": lambda b: replace(
        b, logs={**b.logs, 1: _lines(b.logs[1], lambda all_: all_[:-1])}
    ),
    "a node's log is missing": lambda b: replace(b, log_signatures=b.log_signatures[:2]),
    "one node's log is shown for another's": lambda b: replace(b, logs={**b.logs, 0: b.logs[1]}),
    "the ledger is shorter": lambda b: replace(b, ledger=_lines(b.ledger, lambda all_: all_[:-1])),
    "another plan is shown": lambda b: _result(b, plan={"items": [8, 7, 6, 5, 4, 3, 2, 1, 0]}),
    "a plan is called proved": lambda b: _result(b, proved=True),
    "a gap is made up": lambda b: _result(b, gaps=[0]),
    "a value is made up": lambda b: _front(b, values=[7]),
    "a weighting is made up": lambda b: _front(b, weightings=["3:1"]),
    "a signature is missing": lambda b: replace(b, signatures={"north": b.signatures["north"]}),
    "a manifest is missing": lambda b: replace(b, manifests=b.manifests[1:]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_bundle_that_was_changed_is_noticed(finished: World, what: str) -> None:
    changed = write_bundle(CHANGES[what](read_bundle(fetched(finished))))
    verdict = check_bundle(read_bundle(changed))
    assert not verdict.ok, what
    with pytest.raises(LogError):
        verdict.check()
    if what != "a signature is missing":  # of which a participant has its own copy, and the nodes
        assert not check_bundle_here(finished.north, changed).ok, what


def test_another_agreement_is_not_taken_for_ours(finished: World) -> None:
    bundle = read_bundle(fetched(finished))
    other = write_bundle(replace(bundle, agreement=bundle.agreement.replace(b"F1", b"G1")))
    with pytest.raises(TrustError, match=r"another agreement for .* than the one this machine"):
        check_bundle_here(finished.north, other)


def test_a_bundle_has_one_budget_and_each_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = [LogSignature(node, 0, "") for node in range(5)]
    logs = {each.node: bytes(3000) for each in signed}
    result = b'{"state": "finished"}'
    made = Bundle("r-1", "finished", b"", {}, logs, signed[:4], [], b"", result)
    assert read_bundle(write_bundle(made)).logs.keys() == {0, 1, 2, 3}
    for nodes, words in ((signed, "logs of 5 nodes"), (signed[:1] * 2, "names a node twice")):
        with pytest.raises(LogError, match=words):
            read_bundle(write_bundle(replace(made, log_signatures=nodes)))
    monkeypatch.setattr("tacit.verify.bundle.MOST_BYTES", 9000)  # enough for each of them
    with pytest.raises(LogError, match="too large"):
        read_bundle(write_bundle(made))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"{}"])
def test_what_is_no_bundle_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(LogError, match="is not an audit bundle"):
        read_bundle(data)
