"""`tacit log replay` on the log of a real node."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from tacit.agreement.terms import read_agreement
from tacit.coordinator.evaluations import Evaluated, Evaluations
from tacit.errors import LogError, PeerLostError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.records.events import (
    EvaluationBegun,
    EvaluationRepeated,
    LogEvent,
    NumberAdopted,
    Sent,
)
from tacit.records.ledger import Disclosed, load_ledger
from tacit.records.log import Log, verify_log
from tacit.records.messages import Computed
from tacit.records.requests import Attempt
from tacit.runs import EngineChoice, Limits
from tacit.search import SearchParameters
from tacit.verify.disclosed import check_answers
from tacit.verify.replay import replay
from tests.conftest import RunTacit
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, problem, run
from tests.on_nodes.entries import evaluations_in, lying, turned
from tests.support.simulated import solve


@pytest.fixture(scope="module")
def recorded(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log, the agreement and the ledger of a run, in one folder."""
    folder = tmp_path_factory.mktemp("recorded")
    data = cluster.folder / "node-1.data"
    before = set(data.iterdir())
    solve(
        generate_assignment(3, rows=8),
        disclose="top:4",
        settings=SearchParameters(population=20, elites=2, tournament=3),
        limits=Limits(generations=5),
        seed=4,
        engine=EngineChoice(
            cluster=cluster.folder / "cluster.toml", ledger=folder / "ledger.jsonl"
        ),
    )
    (kept,) = set(data.iterdir()) - before
    for name in ("log.jsonl", "agreement.json"):
        (folder / name).write_bytes((kept / name).read_bytes())
    for node in (0, 2):
        log = cluster.folder / f"node-{node}.data" / kept.name / "log.jsonl"
        (folder / f"log-{node}.jsonl").write_bytes(log.read_bytes())
    return folder


def test_an_honest_run_is_confirmed(recorded: Path, run_tacit: RunTacit) -> None:
    verified = run_tacit("log", "verify", recorded / "log.jsonl")
    assert verified.returncode == 0
    assert "unbroken" in verified.stdout
    done = run_tacit(
        *("log", "replay", recorded / "log.jsonl"),
        *("--agreement", recorded / "agreement.json", "--ledger", recorded / "ledger.jsonl"),
        *("--other", recorded / "log-0.jsonl", "--other", recorded / "log-2.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "all nodes were asked the same, 6 times\n"
        "6 answers in the ledger are what all three nodes sent\n"
        "all 6 populations are those of the agreed search\n"
    )


def test_another_search_is_found_out(recorded: Path) -> None:
    agreement = read_agreement((recorded / "agreement.json").read_bytes())
    entries = verify_log((recorded / "log.jsonl").read_bytes())
    ledger = _answers(recorded)
    assert replay(agreement, entries, ledger).complete
    other_seed = msgspec.structs.replace(
        agreement, search=msgspec.structs.replace(agreement.search, seed=5)
    )
    assert replay(other_seed, entries, ledger).followed == 0
    # Told something else than what the ledger says, the search would have gone elsewhere.
    lied = [turned(entry) if entry.number == 3 else entry for entry in ledger]
    assert replay(agreement, entries, lied).followed == 3


def test_a_ledger_that_lies_is_found_out(recorded: Path) -> None:
    agreement = read_agreement((recorded / "agreement.json").read_bytes())
    names = ("log.jsonl", "log-0.jsonl", "log-2.jsonl")
    logs = [verify_log((recorded / name).read_bytes()) for name in names]
    ledger = _answers(recorded)
    assert check_answers(agreement, logs, ledger).counts == (6, 0)
    with pytest.raises(LogError, match="of the same node"):
        check_answers(agreement, [logs[0], logs[0]], ledger)

    def lie(changed: Disclosed) -> list[Disclosed]:
        return [*ledger[:2], changed, *ledger[3:]]

    # Another answer than the one that the parts add up to.
    with pytest.raises(LogError, match="disclosed something else"):
        check_answers(agreement, logs, lie(turned(ledger[2])))
    with pytest.raises(LogError, match="disclosed something else"):
        check_answers(agreement, logs, lie(lying(ledger[2], best=-1)))
    # Parts that fit the lie: the node whose part was invented logged another.
    with pytest.raises(LogError, match="logged another answer to evaluation 3"):
        check_answers(agreement, logs, lie(forged(ledger[2])))


def test_a_repeat_that_was_cut_off_explains_no_other_answer(recorded: Path) -> None:
    """The platform has its answer, asks again and stops that: now nodes lack a line for it."""
    agreement = read_agreement((recorded / "agreement.json").read_bytes())
    names = ("log.jsonl", "log-0.jsonl", "log-2.jsonl")
    logs = [verify_log((recorded / name).read_bytes()) for name in names]
    ledger = _answers(recorded)
    for number in (3, 6):
        again = Attempt.of(number, 9, 9)
        lie = forged(ledger[number - 1])
        # Of the attempt that was answered, or of the one that was stopped.
        for false in (lie, msgspec.structs.replace(lie, attempt=again)):
            lied = [false if entry.number == number else entry for entry in ledger]
            for asked in (2, 3):
                stopped = [[*log, EvaluationRepeated(0, number, again)] for log in logs[:asked]]
                # The honest answer is proven all the same.
                assert check_answers(agreement, [*stopped, *logs[asked:]], ledger).counts == (6, 0)
                with pytest.raises(LogError, match=f"logged another answer to evaluation {number}"):
                    check_answers(agreement, [*stopped, *logs[asked:]], lied)
        # Nor if the answer itself was cut off at a node: only the last one may lack its proof.
        one_cut = [_without(logs[0], Sent, number), *logs[1:]]
        if number < 6:
            with pytest.raises(LogError, match="the platform went on without"):
                check_answers(agreement, one_cut, ledger)
        else:
            assert check_answers(agreement, one_cut, ledger).counts == (5, 1)
        lied = [lie if entry.number == number else entry for entry in ledger]
        with pytest.raises(LogError, match=f"logged another answer to evaluation {number}"):
            check_answers(agreement, one_cut, lied)
        never = [_without(_without(logs[0], Sent, number), EvaluationBegun, number), *logs[1:]]
        with pytest.raises(LogError, match=f"logged another answer to evaluation {number}"):
            check_answers(agreement, never, ledger)


def test_what_a_power_cut_took_lacks_its_proof(recorded: Path) -> None:
    agreement = read_agreement((recorded / "agreement.json").read_bytes())
    logs = [verify_log((recorded / n).read_bytes()) for n in ("log.jsonl", "log-0.jsonl")]
    ledger = _answers(recorded)
    lost = NumberAdopted(0, 64, "")
    at = next(i for i, e in enumerate(logs[0]) if isinstance(e, Sent) and e.attempt.number == 4)
    assert check_answers(agreement, [[*logs[0][:at], lost], logs[1]], ledger).counts == (3, 3)
    # What was logged before it is not lost with it.
    with pytest.raises(LogError, match="the platform went on without"):
        check_answers(agreement, [[*_without(logs[0][:at], Sent, 2), lost], logs[1]], ledger)


def test_an_answer_that_a_node_did_not_log_is_asked_for_again(cluster: LocalCluster) -> None:
    """The node fails after its part is out. The second answer is kept as well, and is proven."""
    agreed = AgreedCluster.draft(cluster, problem("top:3"))
    told: list[Evaluated] = []
    again: list[Evaluated] = []

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, _):
            evaluations = Evaluations(coordinator, 0, answered_again=again.append)
            for plans in populations(2):
                told.append(await evaluations.evaluate(plans, until=time.monotonic() + 240))
                await asyncio.gather(*told[-1].replies)
                if len(told) == 1:
                    failed: asyncio.Future[Computed] = asyncio.get_running_loop().create_future()
                    failed.set_exception(PeerLostError("node 1", "is gone"))
                    told[0].replies[1] = failed
            await asyncio.gather(*again[0].replies)

    run(evaluate())
    logs = [agreed.log(node) for node in range(3)]
    line = next(e for e in agreed.events(1, Sent) if e.attempt.number == 1)
    logs[1].remove(line)
    ledger = [told[0].entry(0), again[0].entry(0, again=True), told[1].entry(0)]
    assert check_answers(agreed.agreement, logs, ledger).counts == (2, 0)
    # Without it, or with another content, nobody is to believe the first.
    with pytest.raises(LogError, match="logged another answer to evaluation 1"):
        check_answers(agreed.agreement, logs, [ledger[0], ledger[2]])
    with pytest.raises(LogError, match="another answer to evaluation 1"):
        check_answers(
            agreed.agreement, logs, [msgspec.structs.replace(ledger[0], request="ab"), *ledger[1:]]
        )


def _answers(folder: Path) -> list[Disclosed]:
    return evaluations_in(load_ledger(folder / "ledger.jsonl"))


def forged(entry: Disclosed) -> Disclosed:
    """Other labels, with parts that add up to them."""
    parts = [
        [(k, [_turned(frame) for frame in frames] if k == 1 else frames) for k, frames in each]
        for each in entry.parts
    ]
    return msgspec.structs.replace(turned(entry), parts=parts)


def _without(log: Log, kind: type[Sent | EvaluationBegun], number: int) -> list[LogEvent]:
    return [
        event for event in log if not (isinstance(event, kind) and event.attempt.number == number)
    ]


def _turned(frame: bytes) -> bytes:
    """Labels of four bytes, last first."""
    return b"".join(frame[at : at + 4] for at in range(len(frame) - 4, -1, -4))
