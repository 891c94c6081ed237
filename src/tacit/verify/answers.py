"""Did the nodes disclose what the ledger says? Add up their parts again, compare with the logs.

A ledger keeps the parts that the nodes sent, and each node logs a hash of its own. With the logs of
all nodes an answer is proven. With fewer it is not: whoever invents the missing parts can
make the sum say anything.

So an answer that a node has not logged proves nothing either, whatever the reason. A platform that
follows its own rules asks again for such an evaluation before the next, until all nodes have
logged one attempt, and keeps that answer too. What remains without proof can only be the last
evaluation of an objective, or one whose lines a node has lost in a power cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from tacit.engine.agreement import COUNTS, Agreement
from tacit.engine.evaluators import disclosed_best
from tacit.engine.records import (
    EvaluationAnswer,
    FrontAnswer,
    LedgerEntry,
    Log,
    RevealBegun,
    RevealedBest,
)
from tacit.engine.wire import NO_ATTEMPT, Attempt, collect_answer
from tacit.errors import LogError, PeerError, UnprovenError
from tacit.mpc import DisclosedValues, Session, receive_again
from tacit.verify.answer_log import AnswerLog, Key, entry_key
from tacit.verify.front import check_front
from tacit.verify.loss import to_the_end

UNPROVEN = (
    "a node failed before it had logged its part, or was cut off by the platform, which can then "
    "claim anything; ask the nodes' operators what happened"
)


@dataclass(frozen=True, slots=True)
class Answers:
    """How many evaluations of a ledger have an answer that all logs prove, and how many do not."""

    confirmed: int
    unconfirmed: int


def check_answers(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> Answers:
    """Compare a ledger with verified logs of different nodes; a `LogError` names what differs."""
    answered: dict[Key, list[EvaluationAnswer]] = {}
    for entry in _answers(ledger):
        _check_parts(agreement, entry)
        answered.setdefault(entry_key(entry), []).append(entry)
    nodes = [AnswerLog.of(log) for log in logs]
    senders = [_sender(node, _answers(ledger)) for node in nodes]
    known = [next(iter(each)) for each in senders if len(each) == 1]
    if len(set(known)) < len(known):
        raise LogError("two of the logs are of the same node; give one of each")
    last = dict(sorted(answered))
    unconfirmed = 0
    for key, same in answered.items():
        if any((e.request, e.disclosed, e.best) != _content(same[0]) for e in same):
            raise LogError(f"the ledger has two answers to evaluation {key[1]}; one is invented")
        # One may have been given by four nodes, and again by three.
        there = [_took_part(entry, nodes) for entry in same]
        with_us = [([nodes[k] for k in each], [senders[k] for k in each]) for each in there]
        if any(_is_proven(entry, *us) for entry, us in zip(same, with_us, strict=True)):
            continue
        for entry, us in zip(same, with_us, strict=True):
            _check_may_lack_proof(entry, *us, is_last=key[1] == last[key[0]])
        unconfirmed += 1
    return Answers(len(answered) - unconfirmed, unconfirmed)


def _took_part(entry: EvaluationAnswer, nodes: Sequence[AnswerLog]) -> list[int]:
    """Which of the logs are of nodes that computed an answer: all, or all but the lost one's."""
    if entry.without is None:
        return list(range(len(nodes)))
    there = [k for k, node in enumerate(nodes) if node.lost_node == entry.without]
    if len(there) < len(nodes) - 1 or not there:
        raise LogError(
            f"the ledger says that node {entry.without} was lost at evaluation {entry.number}, and "
            "the nodes' logs do not; the platform left it out"
        )
    return there


def _answers(ledger: Sequence[LedgerEntry]) -> list[EvaluationAnswer]:
    return [entry for entry in ledger if isinstance(entry, EvaluationAnswer)]


def check_populations(logs: Sequence[Log], /) -> str:
    """All nodes must have been asked the same."""
    requests = [AnswerLog.of(log).requests for log in logs]
    everything = {key for each in requests for key in each}
    for key in sorted(everything):
        if len({each[key] for each in requests if key in each}) > 1:
            raise LogError(
                f"the nodes were asked different things as evaluation {key[1]} of objective "
                f"{key[0]}; the platform tried to play them off against each other"
            )
    return f"all nodes were asked the same, {len(everything)} times"


def check_disclosed(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> str:
    """Ledger and logs must have the same answers; `UnprovenError` if they do not prove all."""
    nodes = [AnswerLog.of(log) for log in logs]
    for entry in ledger:
        _check_may_be_disclosed(agreement, entry, nodes)
    _check_reveals(agreement, logs, ledger)
    answers = check_answers(agreement, logs, ledger)
    count = COUNTS[len(agreement.nodes)]
    words = f"{answers.confirmed} answers in the ledger are what all {count} nodes sent"
    if len(logs) < len(agreement.nodes):
        words = (
            f"{answers.confirmed} answers in the ledger are what {len(logs)} of "
            f"{len(agreement.nodes)} nodes sent; only the logs of all prove them"
        )
    if _check_nothing_left_out(nodes, {entry_key(entry) for entry in _answers(ledger)}):
        words += "; the last one came too late for the ledger"
    front = check_front(agreement, logs, ledger)
    if front is not None:
        words += f"; {front}"
    if answers.unconfirmed:
        raise UnprovenError(f"{words}, and {answers.unconfirmed} are not proven: {UNPROVEN}")
    return words


def _check_reveals(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry]
) -> None:
    """At most one reveal, which was agreed, and which every node was asked for."""
    reveals = {(e.objective, e.index) for e in ledger if isinstance(e, RevealedBest)}
    begun = all(any(isinstance(e, RevealBegun) for e in log) for log in to_the_end(logs))
    if len(reveals) > (agreement.reveal_best and begun):
        raise LogError("the ledger has a reveal that the nodes did not make; it was changed")


def _check_may_be_disclosed(
    agreement: Agreement, entry: LedgerEntry, nodes: Sequence[AnswerLog]
) -> None:
    """An entry must be about something that is disclosed, and that every node was asked."""
    if not isinstance(entry, EvaluationAnswer | RevealedBest | FrontAnswer):
        raise LogError("the ledger has a sealed search, and none was agreed; it was changed")
    is_empty = isinstance(entry, EvaluationAnswer) and not entry.disclosed
    if entry.objective not in agreement.evaluated() or is_empty:
        raise LogError(
            f"the ledger has objective {entry.objective}, of which nothing is disclosed; the "
            "platform changed it"
        )
    for node in _took_part(entry, nodes) if isinstance(entry, EvaluationAnswer) else []:
        if isinstance(entry, EvaluationAnswer) and not nodes[node].was_asked(entry):
            raise LogError(
                f"the ledger has evaluation {entry.number}, and node {node} was not asked "
                "that; the platform invented it"
            )


def _check_nothing_left_out(nodes: Sequence[AnswerLog], answered: set[Key]) -> bool:
    """Whether the ledger lacks the last answer; any other must be there."""
    lines = Counter(key for node in nodes for key in node.sent)
    # Of four logs one may lie, or be of a node that was lost.
    sent = {key for key, count in lines.items() if count >= min(len(nodes), 3)}
    last = max((number for _, number in sent | answered), default=0)
    # The same population may have been asked for again under another number, after a power cut.
    requests = nodes[0].requests
    known = {(key[0], requests.get(key)) for key in answered}
    hidden = sorted(
        key[1]
        for key in sent - answered
        if key[1] != last and (key[0], requests.get(key)) not in known
    )
    if hidden:
        raise LogError(
            f"the nodes answered evaluation {hidden[0]}, which the ledger leaves out; the platform "
            "knows more than it shows"
        )
    return bool(sent - answered)


def _content(entry: EvaluationAnswer) -> tuple[str, list[int], int | bool | None]:
    return entry.request, entry.disclosed, entry.best


def _check_parts(agreement: Agreement, entry: EvaluationAnswer) -> None:
    """What an entry discloses must be what its parts add up to."""
    if len(entry.parts) != len(agreement.nodes):
        raise LogError(
            f"the ledger has not kept what the nodes sent for evaluation {entry.number}; "
            "without it nothing is confirmed"
        )
    if _told_again(agreement, entry) != (entry.disclosed, entry.best):
        raise LogError(
            f"evaluation {entry.number} disclosed something else than the ledger says; the "
            "platform changed it"
        )


def _sender(node: AnswerLog, ledger: Sequence[EvaluationAnswer]) -> set[int]:
    """The node whose log it is: the one whose parts it names."""
    senders = {number for entry in ledger for number in range(len(entry.parts))}
    for entry in ledger:
        senders = senders & node.senders(entry) or senders
    return senders


def _is_proven(
    entry: EvaluationAnswer, nodes: Sequence[AnswerLog], senders: Sequence[set[int]]
) -> bool:
    """Whether every log has a line for exactly these parts."""
    return all(node.senders(entry) & who for node, who in zip(nodes, senders, strict=True))


def _check_may_lack_proof(
    entry: EvaluationAnswer,
    nodes: Sequence[AnswerLog],
    senders: Sequence[set[int]],
    *,
    is_last: bool,
) -> None:
    """Refuse an answer without proof, unless the logs say how that may have come about.

    It must then be the answer of one attempt that all nodes began, and none of them may have logged
    anything else for that attempt. If all have logged another attempt to its end, there is
    an answer that can be proven, and this is none.
    """
    key = entry_key(entry)
    attempts = set[Attempt]().union({NO_ATTEMPT}, *(node.begun.get(key, set()) for node in nodes))
    complete = set.intersection(*(set(node.sent.get(key, {})) for node in nodes))
    explained = any(
        all(node.allows(entry, attempt, who) for node, who in zip(nodes, senders, strict=True))
        for attempt in attempts
    )
    if not explained or (complete and len(nodes) == len(entry.parts) - (entry.without is not None)):
        raise LogError(
            f"the nodes logged another answer to evaluation {entry.number}; the platform changed it"
        )
    if not is_last and not any(node.has_lost(key) for node in nodes):
        raise LogError(
            f"not all nodes logged an answer to evaluation {key[1]}, and the platform went on "
            "without; what its ledger says of it is not proven"
        )


def _told_again(
    agreement: Agreement, entry: EvaluationAnswer
) -> tuple[list[int], int | bool | None]:
    count = len(entry.disclosed)
    parts = [dict(p) for node, p in enumerate(entry.parts) if node != entry.without]

    def receive(session: Session) -> Awaitable[DisclosedValues]:
        return collect_answer(session, agreement, entry.objective, count)

    try:
        outcome = receive_again(parts, receive)
    except PeerError as error:
        raise LogError(f"evaluation {entry.number}: {error}; the platform changed it") from None
    objective = agreement.known_problem.objectives[entry.objective]
    shown = disclosed_best(outcome.best_value, outcome.improved, objective)
    return [int(label) for label in outcome.labels], shown
