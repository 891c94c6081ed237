"""Whether the platform asked, told and chose as agreed: its ledger and plan against the logs."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.wire.request import REVEAL_NUMBER
from tacit.errors import LogError, UnprovenError
from tacit.participant.account.shapes import Outcome
from tacit.verify.answer_log import Log
from tacit.verify.answers import UNPROVEN, check_answers
from tacit.verify.replay import replay

ENDED = ("finished", "interrupted", "failed", "cancelled")


def _requests(log: Log) -> dict[tuple[int, int], str]:
    """The hash of the population under each number of each objective."""
    return {
        (line["objective"], line["number"]): line["request"]
        for line in log
        if line["event"] in ("evaluate", "caught up") and line["request"]
    }


def check_populations(logs: Sequence[Log]) -> str:
    """All nodes must have been asked the same.

    >>> check_populations([[], [], []])
    'all nodes were asked the same, 0 times'
    """
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


def check_told(agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry]) -> str:
    """Ledger and logs must tell of the same answers; `UnprovenError` if they do not prove all."""
    for entry in ledger:
        if entry.objective not in agreement.confidential() or not entry.disclosed:
            raise LogError(
                f"the ledger tells of objective {entry.objective}, of which nothing is disclosed; "
                "the platform changed it"
            )
    for node, log in enumerate(logs):
        _check_was_asked(node, log, ledger)
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
    if sent - told:
        words += "; the last one came too late for the ledger"
    if answers.unconfirmed:
        raise UnprovenError(f"{words}, and {answers.unconfirmed} are not proven: {UNPROVEN}")
    return words


def _check_was_asked(node: int, log: Log, ledger: Sequence[LedgerEntry]) -> None:
    """Answers are to questions that every node was asked."""
    requests = _requests(log)
    # After a power cut a node knows up to which number its last lines are lost.
    lost: dict[int, int] = {}
    for line in log:
        if line["event"] == "caught up" and not line["request"]:
            lost[line["objective"]] = max(lost.get(line["objective"], 0), line["number"])
    for entry in ledger:
        request = requests.get((entry.objective, entry.number))
        is_lost = request is None and entry.number <= lost.get(entry.objective, 0)
        if request != entry.request and not is_lost and entry.number != REVEAL_NUMBER:
            raise LogError(
                f"the ledger tells of evaluation {entry.number}, and node {node} was not asked "
                "that; the platform invented it"
            )


def check_shown(outcome: Outcome, shown: list[int] | None) -> None:
    """The plan must be the one that this machine has shown before, if any.

    >>> check_shown(Outcome("finished"), None)
    """
    if shown is not None and (outcome.plan is None or outcome.plan.items != shown):
        raise LogError(
            "the plan is another than tacit participant result has shown here; see both, and ask "
            "the operator, unless the run was taken up again in between"
        )


def check_search(
    agreement: Agreement,
    log: Log,
    ledger: Sequence[LedgerEntry],
    outcome: Outcome,
    shown: list[int] | None = None,
) -> str:
    """Every population must be the one that the agreed search asks for, and the plan its result.

    `shown` is the plan that this machine has shown before, if any: it must be that one.
    """
    check_shown(outcome, shown)
    if not any(line["event"] == "evaluate" for line in log):
        if outcome.plan is not None:
            raise LogError("there is a plan, and the nodes evaluated nothing; where is it from?")
        return "nothing was evaluated"
    found = replay(agreement, log, ledger)
    if found.differs:
        raise LogError(
            f"population {found.followed + 1} of {found.generations} is not what the agreed search "
            "asks for; the platform did not follow it"
        )
    if not found.complete:
        raise LogError(
            f"the ledger tells of {len(found.best_known)} generations and the nodes of "
            f"{found.generations}; the platform leaves something out"
        )
    words = f"all {found.followed} populations are those of the agreed search"
    if outcome.plan is None:
        return words
    if outcome.generation is None or not 0 <= outcome.generation < len(found.best_known):
        raise LogError(
            f"the result is of generation {outcome.generation}, and the ledger tells of "
            f"{len(found.best_known)}; ask the operator for the whole ledger"
        )
    known = found.best_known[outcome.generation]
    plans = agreement.known_problem.plans(known.genomes)
    if outcome.plan.items not in plans.tolist():
        raise LogError(
            "the plan is none of the best that the agreed search found; ask the operator"
        )
    when = f"generation {outcome.generation} of {len(found.best_known) - 1}"
    return f"{words}, and the plan is one of its best after {when}"
