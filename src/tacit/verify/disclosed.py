"""Hold the ledger against the logs: one check for everything that nodes disclose.

An entry keeps the parts that the nodes sent, and each node logs a salted hash of its own. So an
entry is confirmed if it was agreed on, if its payload is what its parts add up to, and if the log
of each node that took part says that it sent exactly its part, in this attempt and for this
request. With the logs of all nodes it is then proven. With fewer it is not: whoever invents the
missing parts can make the sum say anything.

So a disclosure that a node has not logged proves nothing either, whatever the reason. A platform
that follows its own rules asks again until all nodes have logged one attempt, before it goes on,
and keeps that answer too. What remains without proof can only be the last evaluation of an
objective, or one whose lines a node has lost in a power cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from tacit.agreement import COUNTS, Agreement
from tacit.errors import LogError, UnprovenError
from tacit.records import (
    BatchBegun,
    Disclosed,
    DisclosedBest,
    DisclosedFront,
    DisclosedProof,
    DisclosureKind,
    Log,
    Sent,
    events_of,
    in_words,
    payload_from_parts,
    plan_hash,
)
from tacit.verify.logs import (
    Key,
    LoggedDisclosures,
    another_answer,
    answered_attempts,
    key_of,
    to_the_end,
)
from tacit.verify.sealed import (
    agreed_checkpoints,
    check_all_told,
    check_boxes,
    check_generations_asked,
    check_told,
)
from tacit.verify.votes import check_decided

UNPROVEN = (
    "a node failed before it had logged its part, or was cut off by the platform, which can then "
    "claim anything; ask the nodes' operators what happened"
)


# One entry.


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the logs say of an entry."""

    entry: Disclosed
    involved: Sequence[int]
    """Which of the logs are of nodes that took part."""
    senders: Mapping[int, set[int]]
    """Per log that has a line for it, the nodes whose part the line names."""


def confirm(
    agreement: Agreement, entry: Disclosed, logs: Sequence[LoggedDisclosures], /
) -> Confirmed:
    """Hold an entry against the logs; a `LogError` if something contradicts it."""
    # Three questions in this order: whether it was agreed on, whether its parts add up to it, and
    # whether the logs have exactly these parts. Each takes the one before for granted.
    if not is_agreed(agreement, entry):
        raise LogError(
            f"the ledger has {entry.words}, which was not agreed on; the platform changed it"
        )
    made = payload_from_parts(agreement, entry)
    if made.payload != entry.payload:
        raise LogError(
            f"the nodes disclosed something else as {entry.words} than the ledger says; the "
            "platform changed it"
        )
    # A node that was lost meanwhile has no line, and need not have one.
    involved = _took_part(entry, logs)
    found = {k: logs[k].senders(entry, made) for k in involved}
    return Confirmed(entry, involved, {k: nodes for k, nodes in found.items() if nodes})


def is_agreed(agreement: Agreement, disclosure: Disclosed | Sent, /) -> bool:
    """Return whether something of this kind was to be disclosed, about this and then."""
    kind, about, attempt = disclosure.kind, disclosure.about, disclosure.attempt
    if agreement.sealed:
        if kind is DisclosureKind.PROVED:
            return (about, attempt.number) in agreed_checkpoints(agreement)
        is_search = about in range(len(agreement.sealed_run.weightings))
        asked = disclosure.request == plan_hash(about, attempt).hex()
        return kind is _kind_of_plan(agreement) and is_search and asked
    final = {None: None, "top:1": DisclosureKind.BEST}.get(
        agreement.final_reveal, DisclosureKind.FRONT
    )
    return kind in (DisclosureKind.LABELS, final) and about in agreement.evaluated()


def _kind_of_plan(agreement: Agreement) -> DisclosureKind:
    return DisclosureKind.OWNERS_PLAN if agreement.for_owners else DisclosureKind.PLAN


def _took_part(entry: Disclosed, logs: Sequence[LoggedDisclosures]) -> list[int]:
    """Return which logs are of nodes that computed an answer: all, or all but the lost one's."""
    if entry.without is None:
        return list(range(len(logs)))
    there = [k for k, log in enumerate(logs) if log.lost_node == entry.without]
    if len(there) < len(logs) - 1 or not there:
        raise LogError(
            f"the ledger says that node {entry.without} was lost at {entry.words}, and the nodes' "
            "logs do not; the platform left it out"
        )
    return there


# All entries of a ledger.


@dataclass(frozen=True, slots=True)
class Answers:
    """The disclosures of a ledger, and how many logs confirm each of them."""

    proven: dict[Key, int]
    unproven: dict[Key, int]
    """Those that not enough logs confirm, though none contradicts them."""

    @property
    def counts(self) -> tuple[int, int]:
        return len(self.proven), len(self.unproven)

    def of(self, *kinds: DisclosureKind) -> Answers:
        proven, unproven = (
            {key: count for key, count in found.items() if key[0] in kinds}
            for found in (self.proven, self.unproven)
        )
        return Answers(proven, unproven)


def check_answers(
    agreement: Agreement, logs: Sequence[Log], ledger: Iterable[Disclosed], /
) -> Answers:
    """Compare a ledger with verified logs of different nodes; a `LogError` names what differs."""
    nodes = [LoggedDisclosures.of(log) for log in logs]
    groups: dict[Key, list[Confirmed]] = {}
    for entry in ledger:
        groups.setdefault(key_of(entry), []).append(confirm(agreement, entry, nodes))
    # Two copies of one node's log would otherwise count as two witnesses.
    _check_different_nodes([each for group in groups.values() for each in group])
    last = {(kind, about): number for kind, about, number in sorted(groups)}
    found = Answers({}, {})
    for key, group in groups.items():
        first, confirmed = group[0].entry, max(len(each.senders) for each in group)
        # Repeated attempts disclose the same, so that a platform gains nothing by repeating.
        if any((e.entry.request, e.entry.payload) != (first.request, first.payload) for e in group):
            raise LogError(f"the ledger has two answers to {first.words}; one is invented")
        # One may have been given by four nodes, and again by three.
        if any(len(each.senders) >= _needed(agreement, each) for each in group):
            found.proven[key] = confirmed
            continue
        for each in group:
            # Only the last may be cut off: nodes begin the next when all have logged the one
            # before.
            _check_may_lack_proof(each, nodes, is_last=key[2] == last[key[:2]])
        found.unproven[key] = confirmed
    return found


def _needed(agreement: Agreement, confirmed: Confirmed) -> int:
    """Return how many logs prove an entry.

    A plan is opened with all parts but one, and the platform asks for no part of a node that is
    away.
    """
    involved = len(confirmed.involved)
    return min(len(agreement.nodes) - confirmed.entry.kind.opens_plan, involved)


def _check_different_nodes(confirmed: Sequence[Confirmed]) -> None:
    """Check that each log is of one node throughout, and no two of the same."""
    may_be: dict[int, set[int]] = {}
    for each in confirmed:
        for k, nodes in each.senders.items():
            may_be[k] = may_be.get(k, nodes) & nodes
            if not may_be[k]:
                raise another_answer(each.entry)
    if not any(len({*nodes}) == len(nodes) for nodes in product(*may_be.values())):
        raise LogError("two of the logs are of the same node; give one of each")


def _check_may_lack_proof(
    confirmed: Confirmed, nodes: Sequence[LoggedDisclosures], *, is_last: bool
) -> None:
    """Refuse an entry without proof, unless the logs say how that may have come about.

    All nodes must have begun that very attempt, or all but one where a plan is opened. If all have
    logged another attempt to its end, there is an answer that can be proven, and this is none.
    """
    entry, key = confirmed.entry, key_of(confirmed.entry)
    involved = [nodes[k] for k in confirmed.involved]
    silent = [nodes[k] for k in confirmed.involved if k not in confirmed.senders]
    unasked = sum(not log.has_begun(entry) for log in silent)
    all_are_here = len(involved) == len(entry.parts) - (entry.without is not None)
    if unasked > entry.kind.opens_plan or (all_are_here and answered_attempts(involved, key)):
        raise another_answer(entry)
    may_be_lost = is_last or any(log.has_lost(key) for log in involved)
    # A node that cheated must not discredit what was disclosed before by lines that it deletes.
    missing = [k for k in confirmed.involved if k not in confirmed.senders]
    others = [nodes[k] for k in confirmed.senders]
    may_be_lost |= len(others) > 2 and all(missing == [log.lost_node] for log in others)
    if entry.kind is DisclosureKind.LABELS and not may_be_lost:
        if len(missing) == 1 and len(others) > 1:
            raise LogError(
                f"the log of node {missing[0]} lacks the answer to {entry.words}, which all others "
                "logged: its disk was set back, or the platform went on without it; what the "
                "ledger says of it is not proven"
            )
        raise LogError(
            f"not all nodes logged an answer to {entry.words}, and the platform went on without; "
            "what its ledger says of it is not proven"
        )


# The whole of a run.


def check_populations(logs: Sequence[Log], /) -> str:
    """Check that all nodes were asked the same."""
    requests = [LoggedDisclosures.of(log).requests for log in logs]
    everything = {key for each in requests for key in each}
    for key in sorted(everything):
        if len({each[key] for each in requests if key in each}) > 1:
            raise LogError(
                f"the nodes were asked different things as evaluation {key[1]} of objective "
                f"{key[0]}; the platform tried to play them off against each other"
            )
    return f"all nodes were asked the same, {len(everything)} times"


def check_disclosed(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[Disclosed], /
) -> str:
    """Compare ledger and logs; `UnprovenError` if not all disclosures are proven."""
    if agreement.sealed:
        return _check_sealed(agreement, to_the_end(logs), ledger)
    nodes = [LoggedDisclosures.of(log) for log in logs]
    _check_asked(nodes, ledger)
    answers = check_answers(agreement, logs, ledger)
    evaluations, count = answers.of(DisclosureKind.LABELS), len(agreement.nodes)
    words = f"{len(evaluations.proven)} answers in the ledger are what all {COUNTS[count]} nodes"
    words += " sent"
    if len(logs) < count:
        words = (
            f"{len(evaluations.proven)} answers in the ledger are what {len(logs)} of {count} "
            "nodes sent; only the logs of all prove them"
        )
    if _check_no_evaluation_left_out(nodes, {*evaluations.proven, *evaluations.unproven}):
        words += "; the last one came too late for the ledger"
    words += _revealed_words(answers, ledger)
    _check_nothing_left_out(agreement, nodes, answers)
    check_decided(agreement, logs)
    if answers.unproven:
        raise UnprovenError(f"{words}, and {len(answers.unproven)} are not proven: {UNPROVEN}")
    return words


def _check_asked(nodes: Sequence[LoggedDisclosures], ledger: Iterable[Disclosed]) -> None:
    """Check that the nodes which computed an evaluation of the ledger were asked for it."""
    for entry in ledger:
        if entry.kind is not DisclosureKind.LABELS:
            continue
        took_part = _took_part(entry, nodes)
        lacking = [k for k in took_part if not nodes[k].was_asked(entry)]
        if not lacking:
            continue
        others = [nodes[k] for k in took_part if k not in lacking]
        have_sent = [entry.attempt in each.sent.get(key_of(entry), {}) for each in others]
        # Nodes compute together or not at all, and one of four may lie. So where all others have
        # sent their parts, this one took part too, and the platform has invented nothing.
        if len(lacking) == 1 and len(others) > 1 and all(have_sent):
            raise LogError(
                f"the log of node {lacking[0]} lacks {entry.words}, of which all others have sent "
                "their parts: its disk was set back, or exchanged; ask its operator"
            )
        raise LogError(
            f"the ledger has {entry.words}, and node {lacking[0]} was not asked that; the platform "
            "invented it"
        )


def _check_no_evaluation_left_out(nodes: Sequence[LoggedDisclosures], answered: set[Key]) -> bool:
    """Check that the ledger lacks no evaluation but the last; return whether it lacks that."""
    lines = Counter(key for node in nodes for key in node.sent if key[0] is DisclosureKind.LABELS)
    # Of four logs one may lie, or be of a node that was lost.
    sent = {key for key, count in lines.items() if count >= min(len(nodes), 3)}
    last = max((number for _, _, number in sent | answered), default=0)
    # The same population may have been asked for again under another number, after a power cut.
    requests = nodes[0].requests
    known = {(about, requests.get((about, number))) for _, about, number in answered}
    hidden = sorted(
        number
        for _, about, number in sent - answered
        if number != last and (about, requests.get((about, number))) not in known
    )
    if hidden:
        raise LogError(
            f"the nodes answered evaluation {hidden[0]}, which the ledger leaves out; the platform "
            "knows more than it shows"
        )
    return bool(sent - answered)


def _check_nothing_left_out(
    agreement: Agreement, nodes: Sequence[LoggedDisclosures], answers: Answers
) -> None:
    """Check that whatever else left a node was agreed on, and is in the ledger.

    A platform that is killed just then loses it too, so a gap does not prove bad intent.
    """
    sent = [
        line for node in nodes for by in node.sent.values() for each in by.values() for line in each
    ]
    for line in sent:
        if not is_agreed(agreement, line):
            raise LogError(
                f"a node disclosed {_words(line)}, which was not agreed on; ask its operator"
            )
    shown = {*answers.proven, *answers.unproven}
    for line in sent:
        if line.kind is not DisclosureKind.LABELS and key_of(line) not in shown:
            raise UnprovenError(
                f"the nodes disclosed {_words(line)}, which the ledger leaves out: the platform "
                "knows more than it shows, unless it was interrupted just then"
            )


def _words(line: Sent) -> str:
    return in_words(line.kind, line.about, line.attempt.number)


def _revealed_words(answers: Answers, ledger: Iterable[Disclosed]) -> str:
    """Say what the final reveal disclosed."""
    for entry in ledger:
        if not isinstance(entry.payload, DisclosedBest | DisclosedFront):
            continue
        key = key_of(entry)
        logs = answers.proven.get(key, answers.unproven.get(key, 0))
        if isinstance(entry.payload, DisclosedBest):
            what = f"1 of {entry.payload.candidates} plans was revealed as the best"
        else:
            count = len(entry.payload.nondominated)
            what = f"{count} of {entry.payload.candidates} plans were revealed as non-dominated"
        return f"; {what}, as {logs} logs confirm"
    return ""


def _check_sealed(agreement: Agreement, logs: Sequence[Log], ledger: Sequence[Disclosed]) -> str:
    """Check that plans were opened as agreed, and nothing else but agreed proofs."""
    if not ledger and not any(events_of(BatchBegun, log) for log in logs):
        return "sealed: nothing was opened"
    check_generations_asked(logs)
    answers = check_answers(agreement, logs, ledger)
    check_boxes(agreement, logs, ledger)
    nodes = [LoggedDisclosures.of(log) for log in logs]
    told = check_told(agreement, logs)
    for entry in ledger:
        shown = entry.payload
        at = entry.about, entry.number
        if isinstance(shown, DisclosedProof) and told.get(at, shown.finished) != shown.finished:
            raise LogError(f"the nodes say something else of {entry.words} than the ledger")
    _check_nothing_left_out(agreement, nodes, answers)
    check_decided(agreement, logs)
    check_all_told(agreement, logs, told)
    words = _sealed_words(agreement, answers, ledger)
    if answers.unproven:
        raise UnprovenError(f"{words}, and {len(answers.unproven)} are not proven: {UNPROVEN}")
    return words


def _sealed_words(agreement: Agreement, answers: Answers, ledger: Iterable[Disclosed]) -> str:
    plans, proofs = answers.of(_kind_of_plan(agreement)), answers.of(DisclosureKind.PROVED)
    opened = {**plans.proven, **plans.unproven}
    words = "sealed: no plan was opened"
    if opened:
        what = "the plan was" if len(opened) == 1 else f"{len(opened)} plans were"
        to, parts = "", "parts"
        if agreement.for_owners:
            to, parts = ", to its owners alone", "lists of boxes"
        words = (
            f"sealed: only {what} opened{to}, as {sum(opened.values())} {parts} in the logs confirm"
        )
    if not proofs.proven and not proofs.unproven:
        return words
    shown = {key_of(entry): entry.payload for entry in ledger}
    yes = [isinstance(each, DisclosedProof) and each.finished for each in shown.values()]
    return (
        f"{words}; besides, {len(proofs.proven) + len(proofs.unproven)} of "
        f"{len(agreed_checkpoints(agreement))} agreed times whether all was proved, {sum(yes)} "
        "times yes"
    )
