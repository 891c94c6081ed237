"""Afterwards: whether nodes and platform did what was signed.

The nodes' logs tell, and the platform that carries them can neither forge nor withhold a line of
them unseen.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import msgspec
import numpy as np

from tacit.engine.agree import problem_of
from tacit.engine.agreement import Agreement
from tacit.engine.answers import Log, check_answers
from tacit.engine.ledger import LedgerEntry
from tacit.engine.log_receipt import check_log
from tacit.engine.request import REVEAL_NUMBER
from tacit.errors import LogError
from tacit.participant.input_check import check_inputs
from tacit.participant.profile import Profile
from tacit.participant.reviewing import clock_warnings
from tacit.participant.shapes import CarriedLog, CarriedLogs, Outcome
from tacit.participant.verdict import Finding, Verdict
from tacit.runs.replay import replay

ENDED = ("finished", "interrupted", "failed", "cancelled")


def check_logs(profile: Profile, run: str, /) -> Verdict:
    """Fetch the three nodes' logs for a fresh nonce, and check everything that they can show.

    >>> check_logs.__name__
    'check_logs'
    """
    agreement = profile.need_signed_agreement(run)
    nonce = secrets.token_bytes(32)
    with profile.connect() as client:
        outcome = client.get(f"/runs/{run}/result", Outcome)
        # The ledger comes first: whatever it tells of must then be in the logs.
        ledger = read_ledger(client.send("GET", f"/runs/{run}/ledger"))
        carried = client.post(f"/runs/{run}/logs", {"nonce": nonce.hex()}, CarriedLogs)
        now, offset = time.time(), client.clock_offset
    verdict = Verdict(run, outcome.state)
    verdict.notes.extend(clock_warnings("the platform", offset))
    logs = _verified_logs(agreement, carried, nonce, verdict)
    for each in carried.logs:
        # A node's seconds are cut off as well.
        verdict.notes.extend(clock_warnings(f"node {each.node}", each.seconds + 0.5 - now))
    if len(logs) == 3:
        own = {
            k: profile.manifests(run, k)
            for k in agreement.confidential()
            if agreement.rows_of(profile.account, k)
        }
        verdict.findings.append(
            Finding.of(
                "inputs", check_inputs, agreement, logs, carried.manifests, profile.account, own
            )
        )
        verdict.findings.append(Finding.of("populations", _check_populations, logs))
        verdict.findings.append(Finding.of("answers", _check_told, agreement, logs, ledger))
        verdict.findings.append(
            Finding.of("search", _check_search, agreement, logs[0], ledger, outcome)
        )
        verdict.notes.extend(_refusals(logs))
    return verdict


def read_ledger(data: bytes, /) -> list[LedgerEntry]:
    """What the platform says was disclosed.

    >>> read_ledger(b"{}")
    Traceback (most recent call last):
    tacit.errors.LogError: the platform's ledger cannot be read (Object missing required field \
`objective`); ask its operator for the whole of it
    """
    try:
        return [msgspec.json.decode(line, type=LedgerEntry) for line in data.splitlines() if line]
    except msgspec.DecodeError as error:
        raise LogError(
            f"the platform's ledger cannot be read ({error}); ask its operator for the whole of it"
        ) from None


def _verified_logs(
    agreement: Agreement, carried: CarriedLogs, nonce: bytes, verdict: Verdict
) -> list[Log]:
    """The logs that are whole, of this agreement, and signed for our question."""
    by_node = {each.node: each for each in carried.logs}
    logs: list[Log] = []

    def verify(node: int) -> str:
        if node not in by_node:
            raise LogError(
                f"the platform brings no log of node {node}; ask again, then ask its operator"
            )
        entries = _verify(agreement, node, by_node[node], nonce)
        logs.append(entries)
        return f"node {node}: {len(entries)} lines, unbroken, signed for this question"

    for node in range(3):
        verdict.findings.append(Finding.of(f"log of node {node}", verify, node))
    return logs


def _verify(agreement: Agreement, node: int, carried: CarriedLog, nonce: bytes) -> Log:
    if carried.nonce != nonce.hex():
        raise LogError(
            f"node {node}: this log answers another question than ours; the platform shows an old "
            "one"
        )
    try:
        signature = bytes.fromhex(carried.signature)
    except ValueError:
        signature = b""
    try:
        return check_log(
            agreement,
            node,
            carried.log,
            nonce=nonce,
            seconds=carried.seconds,
            signature=signature,
        )
    except LogError as error:
        raise LogError(f"node {node}: {error}") from None


def _requests(log: Log) -> dict[tuple[int, int], str]:
    """The hash of the population under each number of each objective."""
    return {
        (line["objective"], line["number"]): line["request"]
        for line in log
        if line["event"] in ("evaluate", "caught up") and line["request"]
    }


def _check_populations(logs: Sequence[Log]) -> str:
    """All nodes must have been asked the same."""
    requests = [_requests(log) for log in logs]
    everything = {key for each in requests for key in each}
    for objective, number in sorted(everything):
        told = {each[objective, number] for each in requests if (objective, number) in each}
        if len(told) > 1:
            raise LogError(
                f"the nodes were asked different things as evaluation {number} of objective "
                f"{objective}; the platform tried to play them off against each other"
            )
    return f"all nodes were asked the same, {len(everything)} times"


def _check_told(agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry]) -> str:
    """Ledger and logs must tell of the same answers."""
    answers = check_answers(agreement, logs, ledger)
    told = {(entry.objective, entry.number) for entry in ledger if entry.number != REVEAL_NUMBER}
    sent = set.intersection(
        *(
            {(e["objective"], e["number"]) for e in log if e["event"] == "sent"}
            - {(k, REVEAL_NUMBER) for k in agreement.confidential()}
            for log in logs
        )
    )
    last = max((number for _, number in sent | told), default=0)
    # The same population may have been asked for again under another number, after a power cut.
    requests = _requests(logs[0])
    known = {(objective, requests.get((objective, number))) for objective, number in told}
    hidden = sorted(
        number
        for objective, number in sent - told
        if number != last and (objective, requests.get((objective, number))) not in known
    )
    if hidden:
        raise LogError(
            f"the nodes answered evaluation {hidden[0]}, which the ledger leaves out; the platform "
            "knows more than it tells"
        )
    words = f"{answers.confirmed} answers in the ledger are what all three nodes sent"
    if answers.unconfirmed:
        words += f", {answers.unconfirmed} could not be confirmed (a node failed in the middle)"
    if sent - told:
        words += "; the last one came too late for the ledger"
    return words


def _check_search(
    agreement: Agreement, log: Log, ledger: Sequence[LedgerEntry], outcome: Outcome
) -> str:
    """Every population must be the one that the agreed search asks for, and the plan its result."""
    if not any(line["event"] == "evaluate" for line in log):
        if outcome.plan is not None:
            raise LogError("there is a plan, and the nodes evaluated nothing; where is it from?")
        return "nothing was evaluated yet"
    found = replay(agreement, log, ledger)
    if found.differs:
        raise LogError(
            f"population {found.followed + 1} of {found.generations} is not what the agreed search "
            "asks for; the platform did not follow it"
        )
    if not found.complete and outcome.state in ENDED:
        raise LogError(
            f"the ledger tells of {len(found.best_known)} generations and the nodes of "
            f"{found.generations}; the platform leaves something out"
        )
    so_far = "" if outcome.state in ENDED else " so far"
    words = f"all {found.followed} populations{so_far} are those of the agreed search"
    if outcome.plan is None:
        return words
    if outcome.generation is None or not 0 <= outcome.generation < len(found.best_known):
        raise LogError(
            f"the result is of generation {outcome.generation}, and the ledger tells of "
            f"{len(found.best_known)}; ask the operator for the whole ledger"
        )
    known = found.best_known[outcome.generation]
    plans = problem_of(agreement).plans(known.genomes)
    if not np.any(np.all(plans == np.array(outcome.plan.items), axis=1)):
        raise LogError(
            "the plan is none of the best that the agreed search found; ask the operator"
        )
    when = f"generation {outcome.generation} of {len(found.best_known) - 1}"
    return f"{words}, and the plan is one of its best after {when}"


def _refusals(logs: Sequence[Log]) -> list[str]:
    """What the platform asked for and the nodes refused: worth a look, not a proof of anything."""
    notes = []
    for node, log in enumerate(logs):
        refused = [str(e.get("reason", "")) for e in log if e["event"] == "refused"]
        if refused:
            notes.append(f"node {node} refused {len(refused)} requests, the first: {refused[0]}")
    return notes
