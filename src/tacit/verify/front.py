"""Checks that nodes revealed the front in the ledger, of a set that the agreed search found."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement import Agreement
from tacit.engine.records import BestSent, FrontAnswer, LedgerEntry, Log, RevealBegun
from tacit.engine.wire import collect_revealed, pack_candidates, request_hash
from tacit.errors import LogError, PeerError, UnprovenError
from tacit.mpc import receive_again
from tacit.runs import BestKnown
from tacit.verify.answer_log import digests_of, is_hash_of
from tacit.verify.loss import fits_loss, phase_of_three, took_part


def check_front(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry], /
) -> str | None:
    """What the logs say of the front in the ledger; None where there is none, and none was sent."""
    entries = [entry for entry in ledger if isinstance(entry, FrontAnswer)]
    if not entries:
        if agreement.together and any(_sent(log) for log in logs):
            raise UnprovenError(
                "the nodes revealed a front, which the ledger leaves out: the platform knows more "
                "than it shows, unless it was interrupted just then"
            )
        return None
    if agreement.front == "nothing":
        raise LogError("the ledger has a front, and none was agreed; it was changed")
    if any(_content(entry) != _content(entries[0]) for entry in entries):
        raise LogError("the ledger has two fronts; the nodes reveal one, so one is invented")
    for entry in entries:
        _check_parts(agreement, entry)
    confirmed = max(_confirmed(logs, entry) for entry in entries)
    words = f"{len(entries[0].nondominated)} of {entries[0].candidates} plans were revealed as "
    words += f"non-dominated, as {confirmed} logs confirm"
    if confirmed < min(len(took_part(logs, entry.without)) for entry in entries):
        raise UnprovenError(f"{words}; not all of them do")
    return words


def check_front_set(
    agreement: Agreement, found: Sequence[BestKnown], ledger: Sequence[LedgerEntry], /
) -> None:
    """A front must be of a best-known set of the agreed search."""
    for entry in ledger:
        if not isinstance(entry, FrontAnswer):
            continue
        problem, word = agreement.known_problem, agreement.final_reveal or ""
        asked = {
            request_hash(
                "reveal", word, "nothing", pack_candidates(problem, problem.plans(each.genomes))
            ).hex()
            for each in found
        }
        if entry.request not in asked:
            raise LogError(
                "the front is of other plans than the best that the agreed search found; ask the "
                "operator"
            )


def _content(entry: FrontAnswer) -> tuple[str, list[int], list[list[int]] | None]:
    return entry.request, entry.nondominated, entry.values


def _sent(log: Log) -> list[BestSent]:
    return [event for event in log if isinstance(event, BestSent)]


def _check_parts(agreement: Agreement, entry: FrontAnswer) -> None:
    """What an entry says must be what its parts add up to."""
    parts = [dict(part) for node, part in enumerate(entry.parts) if node != entry.without]
    if len(entry.parts) != len(agreement.nodes) or entry.candidates < 1:
        raise LogError("the ledger has not kept what the nodes sent for the front")
    try:
        told = receive_again(
            parts, lambda session: collect_revealed(session, agreement, entry.candidates)
        )
    except PeerError as error:
        raise LogError(f"the front: {error}; the platform changed it") from None
    values = None if told.values is None else told.values.tolist()
    if (told.nondominated.tolist(), values) != (entry.nondominated, entry.values):
        raise LogError("the nodes revealed another front than the ledger says; it was changed")


def _confirmed(logs: Sequence[Log], entry: FrontAnswer) -> int:
    """How many logs have a line for exactly these parts, each of another node."""
    parts = [digests_of(part) for part in entry.parts]
    senders: set[int] = set()
    count = 0
    for log in took_part(logs, entry.without):
        if not any(isinstance(e, RevealBegun) and e.request == entry.request for e in log):
            raise LogError("the ledger has a front that a node was not asked for; it was changed")
        phase = phase_of_three(log)
        sent = [each for each in _sent(log) if fits_loss(phase, entry.without, each.attempt)]
        mine = {
            node
            for node, part in enumerate(parts)
            if any(is_hash_of(event, part) for event in sent)
        }
        count += bool(mine - senders)
        senders |= mine
    return count
