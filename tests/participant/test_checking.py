"""Checks of real logs of real nodes, carried by a platform or a bundle that may lie."""

from __future__ import annotations

import json
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from sqlalchemy import delete

from tacit.agreement.sealing import seal_rows
from tacit.errors import LogError, TrustError
from tacit.participant import check_logs
from tacit.participant.checking import _mismatches, check_bundle_here
from tacit.problems import save_problem
from tacit.records import Attempt, NodeReturned, RequestFailed, read_ledger
from tacit.records.events import Sent
from tacit.records.log import FIRST, check_log, line_hash
from tacit.service.storage import RunFile, read_run, read_run_file
from tacit.service.storage.run_files import AUDIT
from tacit.service.workflow import evidence
from tacit.verify import Bundle, LogSignature, check_bundle, read_bundle, write_bundle
from tests.conftest import RunTacit
from tests.on_nodes.entries import evaluations_in, labels_of, lying, turned
from tests.participant.conftest import World
from tests.participant.platform import RUN
from tests.support.command_line import Tacit


def test_an_honest_run_is_confirmed(finished: World, tacit: Tacit) -> None:
    for profile in finished.profiles.values():
        verdict = check_logs(profile, RUN)
        assert verdict.ok, verdict.lines()
        assert not verdict.notes
    said = tacit("log", RUN, "--profile", finished.north.folder)
    assert said.code == 0
    assert (
        "all 6 populations are those of the agreed search, and the plan is one of its" in said.out
    )
    assert "6 answers in the ledger are what all three nodes sent" in said.out
    assert "yours are as this machine sealed them" in said.out
    assert said.out.endswith("everything is as it was signed\n")
    told = json.loads(tacit("log", RUN, "--json", "--profile", finished.north.folder).out)
    assert told["ok"]
    assert {finding["about"] for finding in told["findings"]} >= {"search", "answers", "inputs"}


def without_lines(log: str, *, middle: bool) -> str:
    lines = b64decode(log).splitlines(keepends=True)
    kept = lines[:4] + lines[5:] if middle else lines[:-2]
    return b64encode(b"".join(kept)).decode()


def chained_again(log: str) -> str:
    """A log with a line left out and all that follow chained anew, as a forger would do it."""
    entries = [msgspec.json.decode(line) for line in b64decode(log).splitlines()]
    del entries[5]
    lines, previous = [], FIRST
    for entry in entries:
        lines.append(msgspec.json.encode({**entry, "previous": previous}, order="sorted"))
        previous = line_hash(lines[-1])
    return b64encode(b"".join(line + b"\n" for line in lines)).decode()


def on_log(node: int, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    return lambda answer: {
        **answer,
        "logs": [change(each) if each["node"] == node else each for each in answer["logs"]],
    }


ATTACKS: list[tuple[str, str, Callable[[Any], Any], str]] = [
    (
        "cut off at the end",
        "logs",
        on_log(1, lambda log: {**log, "log": without_lines(log["log"], middle=False)}),
        "node 1: node 1 did not sign this log for this question",
    ),
    (
        "a line dropped",
        "logs",
        on_log(0, lambda log: {**log, "log": without_lines(log["log"], middle=True)}),
        "node 0: line 5 does not follow line 4; the log was changed",
    ),
    (
        "a line dropped, chained again",
        "logs",
        on_log(2, lambda log: {**log, "log": chained_again(log["log"])}),
        "node 2: node 2 did not sign this log",
    ),
    (
        "another nonce, said openly",
        "logs",
        on_log(0, lambda log: {**log, "nonce": "00" * 32}),
        "node 0: this log answers another question than ours",
    ),
    (
        "a log missing",
        "logs",
        lambda answer: {**answer, "logs": answer["logs"][:2]},
        "the platform brings no log of node 2",
    ),
    (
        "one node's log for another's",
        "logs",
        on_log(0, lambda log: {**log, "signature": "ab"}),
        "node 0 did not sign this log",
    ),
    (
        "ledger altered",
        "ledger",
        lambda entries: [turned(entries[0]), *entries[1:]],
        "disclosed something else as evaluation 1 than the ledger says; the platform changed it",
    ),
    (
        "ledger without one evaluation",
        "ledger",
        lambda entries: [*entries[:2], *entries[3:]],
        "the nodes answered evaluation 3, which the ledger leaves out",
    ),
    (
        "ledger cut off",
        "ledger",
        lambda entries: entries[:3],
        "the nodes answered evaluation 4, which the ledger leaves out",
    ),
    (
        "another plan",
        "result",
        lambda told: {**told, "plan": {"items": told["plan"]["items"][::-1], "named": None}},
        "is not among the best that the agreed search found",
    ),
    (
        "called proved",
        "result",
        lambda told: {**told, "proved": True},
        "the nodes proved nothing: the search is not sealed",
    ),
    (
        "called no worse than the optimum",
        "result",
        lambda told: {**told, "gaps": [0.0]},
        "the nodes proved nothing: the search is not sealed",
    ),
    (
        "a manifest withheld",
        "logs",
        lambda answer: {**answer, "manifests": answer["manifests"][1:]},
        "the platform shows no manifest of 'north'",
    ),
]


@pytest.mark.parametrize(
    ("where", "tamper", "message"),
    [attack[1:] for attack in ATTACKS],
    ids=[attack[0] for attack in ATTACKS],
)
def test_a_lying_platform_is_caught(
    finished: World, tacit: Tacit, where: str, tamper: Callable[[Any], Any], message: str
) -> None:
    finished.platform.tamper[where] = tamper
    said = tacit("log", RUN, "--profile", finished.north.folder)
    assert said.code == 3
    assert message in said.out
    assert said.err.count("\n") == 1
    assert message in said.err


def test_what_was_shown_is_checked_though_it_is_not_said_again(
    finished: World, tacit: Tacit
) -> None:
    at = (RUN, "--profile", finished.north.folder)
    finished.platform.tamper["result"] = lambda told: {**told, "proved": True, "gaps": [0.0]}
    assert tacit("result", *at).code == 0
    finished.platform.tamper.clear()
    said = tacit("log", *at)
    assert said.code == 3
    assert "the nodes proved nothing" in said.out
    with finished.north.connect() as client:
        assert not check_bundle_here(finished.north, client.runs.bundle(RUN)).ok
    assert tacit("result", *at).code == 0
    assert tacit("log", *at).code == 0
    for path in finished.north.folder.rglob("shown.json"):
        path.unlink()  # somebody has tidied up
    assert tacit("log", *at).code == 0


def test_a_log_for_another_question_is_caught(finished: World, tacit: Tacit) -> None:
    finished.platform.execution.nonce = bytes(32)
    try:
        said = tacit("log", RUN, "--profile", finished.north.folder)
    finally:
        finished.platform.execution.nonce = None
    assert said.code == 3
    assert "it may be an old one, fetch it again" in said.err


def test_the_plan_that_was_shown_is_the_one_that_is_checked(finished: World, tacit: Tacit) -> None:
    """Other names for the same numbers change nothing, and another plan is remembered."""
    folder = ("--profile", finished.north.folder)
    honest = tacit("result", RUN, "--csv", *folder).out
    finished.platform.tamper["result"] = lambda told: {
        **told,
        "plan": {**told["plan"], "named": [["F0", "somebody's slot"]] * 9},
    }
    assert tacit("result", RUN, "--csv", *folder).out == honest
    assert tacit("log", RUN, *folder).code == 0
    finished.platform.tamper["result"] = lambda told: {
        **told,
        "plan": {"items": told["plan"]["items"][::-1]},
    }
    assert tacit("result", RUN, *folder).code == 0
    finished.platform.tamper.clear()
    said = tacit("log", RUN, *folder)
    assert said.code == 3
    assert "the plan is another than tacit participant result has shown here" in said.err
    finished.platform.tamper["result"] = lambda told: {**told, "plan": {"items": [77] * 9}}
    assert "not show a plan for the problem that was signed" in tacit("result", RUN, *folder).err
    finished.platform.tamper.clear()
    assert tacit("result", RUN, *folder).code == 0
    assert tacit("log", RUN, *folder).code == 0


def test_a_run_that_never_ends_is_not_confirmed(finished: World, tacit: Tacit) -> None:
    """While it runs, something may always be on its way; so nothing is said before its end."""
    finished.platform.tamper["result"] = lambda told: {**told, "state": "running", "plan": None}
    finished.platform.tamper["ledger"] = lambda entries: entries[:-1]
    said = tacit("log", RUN, "--profile", finished.north.folder)
    assert said.code == 4
    assert "is running, says the platform, and can be checked when it has ended" in said.err


def test_what_is_not_proven_has_an_exit_code_of_its_own(
    finished: World, tacit: Tacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that failed at the very end: its own log says so, which no platform can forge."""

    def cut(*arguments: Any, **options: Any) -> Any:
        log = check_log(*arguments, **options)
        is_cut = arguments[1] == 1
        return [e for e in log if not (is_cut and isinstance(e, Sent) and e.attempt.number == 6)]

    monkeypatch.setattr("tacit.participant.checking.check_log", cut)
    said = tacit("log", RUN, "--profile", finished.north.folder)
    assert said.code == 5
    assert "5 answers in the ledger are what all three nodes sent, and 1 are not proven" in said.out
    assert "all 6 populations are those of the agreed search" in said.out
    assert "everything is as it was signed" not in said.out


def test_an_old_log_is_caught(finished: World) -> None:
    kept: list[Any] = []

    def keep(answer: Any) -> Any:
        kept.append(answer)
        return answer

    finished.platform.tamper["logs"] = keep
    assert check_logs(finished.north, RUN).ok

    def old(answer: Any) -> Any:
        # The nonce is put right, the signature cannot be.
        nonce = answer["logs"][0]["nonce"]
        return {**kept[0], "logs": [{**log, "nonce": nonce} for log in kept[0]["logs"]]}

    finished.platform.tamper["logs"] = old
    verdict = check_logs(finished.north, RUN)
    assert not verdict.ok
    assert all("may be an old one" in finding.detail for finding in verdict.findings)
    assert "not checked, since a check before failed: inputs, populations" in "\n".join(
        verdict.lines()
    )


def test_rows_in_place_of_ours_are_caught(finished: World) -> None:
    """The platform shows a manifest that fits the logs of nobody, or we sealed later ones."""
    agreement, keys = finished.north.need_signed_agreement(RUN), finished.north.keys()
    weights = finished.platform.problem.objectives[0].weights
    assert weights is not None
    other = seal_rows(agreement, "north", 0, weights[:3], key=keys.signing)

    def swap(answer: Any) -> Any:
        first = {**answer["manifests"][0]}
        first["manifest"], first["signature"] = other.manifest.hex(), other.signature.hex()
        return {**answer, "manifests": [first, *answer["manifests"][1:]]}

    finished.platform.tamper["logs"] = swap
    assert "froze other inputs" in "\n".join(check_logs(finished.north, RUN).lines())
    finished.platform.tamper.clear()
    finished.north.keep_manifest(RUN, 0, other.manifest)
    try:
        lines = "\n".join(check_logs(finished.north, RUN).lines())
        assert "an earlier submission of yours and not what this machine sealed last" in lines
    finally:
        (finished.north.folder / "runs" / RUN / "manifest-0-2.json").unlink()


def test_a_clock_that_differs_is_told(finished: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SimpleNamespace(time=lambda: time.time() - 600)
    for module in ("client.connection", "participant.checking"):
        monkeypatch.setattr(f"tacit.{module}.time", slow)
    begun = time.monotonic()
    verdict = check_logs(finished.north, RUN)
    took = time.monotonic() - begun
    assert verdict.ok
    notes = "\n".join(verdict.notes)
    for who in ("the platform", "node 2"):
        found = re.search(rf"{who}'s clock is (\d+) s ahead of yours", notes)
        assert found is not None, notes
        # What an answer took on its way looks like a difference of the clocks.
        assert 599 - took <= int(found[1]) <= 601


FAR = Attempt.of(99, 1, 1)
STRANGE: list[tuple[str, Callable[[Any], Any]]] = [
    ("ledger", lambda all_: [msgspec.structs.replace(all_[0], about=-1), *all_[1:]]),
    ("ledger", lambda all_: [msgspec.structs.replace(all_[0], about=7), *all_[1:]]),
    ("ledger", lambda all_: [lying(all_[0], labels=[]), *all_[1:]]),
    ("ledger", lambda all_: [lying(all_[0], labels=[1] * 9999), *all_[1:]]),
    ("ledger", lambda all_: [msgspec.structs.replace(all_[0], parts=[[], [], []]), *all_[1:]]),
    ("ledger", lambda all_: [msgspec.structs.replace(all_[0], parts=[[(1, [b""])]] * 3)]),
    ("ledger", lambda all_: [msgspec.structs.replace(all_[0], parts=[[(1, [b"x" * 7])]] * 3)]),
    ("ledger", lambda all_: [msgspec.structs.replace(all_[0], attempt=Attempt()), *all_[1:]]),
    ("ledger", lambda all_: [*all_, msgspec.structs.replace(all_[0], attempt=FAR)]),
    ("ledger", lambda all_: []),
    ("result", lambda told: {**told, "plan": {"items": [], "named": None}}),
    ("result", lambda told: {**told, "plan": {"items": [1 << 70] * 9, "named": None}}),
    ("result", lambda told: {**told, "generation": -1}),
    ("result", lambda told: {**told, "generation": None}),
    ("logs", on_log(0, lambda log: {**log, "signature": "zz"})),
    ("logs", on_log(0, lambda log: {**log, "log": ""})),
    ("logs", on_log(0, lambda log: {**log, "seconds": -(1 << 60)})),
    (
        "logs",
        lambda answer: {
            **answer,
            "manifests": [{**each, "manifest": "x"} for each in answer["manifests"]],
        },
    ),
]


@pytest.mark.parametrize(("where", "tamper"), STRANGE)
def test_what_makes_no_sense_is_a_finding_and_no_crash(
    finished: World, tacit: Tacit, where: str, tamper: Callable[[Any], Any]
) -> None:
    finished.platform.tamper[where] = tamper
    said = tacit("log", RUN, "--profile", finished.north.folder)
    assert said.code == 3, said.err
    assert "BAD" in said.out
    assert said.err.count("\n") == 1


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
    database = finished.platform.database
    with database.writing() as session:
        assert read_run_file(session, RUN, AUDIT) == first
        session.execute(delete(RunFile).where(RunFile.name == AUDIT))
    with database.reading() as session:
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


FAILED = RequestFailed("evaluate", "node 1", "one lies", voucher="node 2")


def test_a_mismatch_has_three_suspects_once() -> None:
    (said,) = _mismatches([[], [], [], [FAILED, FAILED]])
    assert said.startswith("node 3 says that node 1 sent it something else than node 2 vouched for")
    assert "one of these three departs from the protocol; nothing" in said
    proven = RequestFailed("evaluate", "node 1", "one lies", voucher="node 2", evidence=["00"])
    assert _mismatches([[proven], [RequestFailed("evaluate", "node 1", "is gone")], [], []]) == []


def test_what_three_computed_alone_may_make_honest_nodes_differ() -> None:
    (said,) = _mismatches([[NodeReturned(9, 3)], [], [], [FAILED]])
    assert "or one of those did that computed alone before" in said
