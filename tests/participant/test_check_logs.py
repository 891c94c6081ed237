"""`tacit participant log` on real logs of real nodes, carried by a platform that may lie."""

from __future__ import annotations

import json
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tacit.agreement.sealing import seal_rows
from tacit.participant import check_logs
from tacit.participant.checking import check_bundle_here
from tacit.records import Attempt
from tacit.records.events import Sent
from tacit.records.log import FIRST, check_log, line_hash
from tests.on_nodes.entries import lying, turned
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
