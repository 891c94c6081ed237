"""Whether a sealed search went as agreed: the nodes searched, and the plan is what they opened.

There is nothing to compute again. What logs can show is that all nodes were asked for the same
generations, that each opened one plan, and that the plan the platform shows is that one.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement.terms import Agreement
from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.wire.request import REVEAL_NUMBER
from tacit.errors import LogError, UnprovenError
from tacit.participant.account.shapes import Outcome
from tacit.verify.answer_log import Log
from tacit.verify.ledger_check import check_shown
from tacit.verify.sealed_answers import check_generations_asked, check_sealed_answers
from tacit.verify.verdict import Finding

ENOUGH = 2
"""Nodes that hold all of a plan; the platform asks for no third one that is away."""


def sealed_findings(
    agreement: Agreement,
    logs: Sequence[Log],
    ledger: Sequence[LedgerEntry],
    outcome: Outcome,
    shown: list[int] | None,
) -> list[Finding]:
    """What was asked, what was told, and what was made of it."""
    told = Finding.of("answers", check_opened, agreement, logs, ledger)
    found = [Finding.of("populations", check_asked, logs), told]
    if told.ok or told.unproven:
        found.append(Finding.of("search", check_plan, logs, ledger, outcome, shown))
    return found


def check_asked(logs: Sequence[Log]) -> str:
    """All nodes must have been asked for the same generations.

    >>> check_asked([[], [], []])
    'no generation was asked for'
    """
    if not _begun(logs):
        return "no generation was asked for"
    return f"all nodes were asked for the same {check_generations_asked(logs)} generations"


def check_opened(agreement: Agreement, logs: Sequence[Log], ledger: Sequence[LedgerEntry]) -> str:
    """The ledger must hold what the nodes opened, and nothing else."""
    if not ledger and not _begun(logs):
        return "sealed: nothing was opened"
    tells_bits = agreement.objectives[0].best == "improvement"
    if not tells_bits and any(entry.number != REVEAL_NUMBER for entry in ledger):
        raise LogError(
            "the ledger tells of more than plans, and nothing else was agreed; the platform "
            "changed it"
        )
    report = check_sealed_answers(agreement, logs, ledger)
    if not report.plans:
        words = "sealed: no plan was opened"
    else:
        plans = "the plan was" if report.plans == 1 else f"{report.plans} plans were"
        words = f"sealed: only {plans} opened, as {report.senders} parts in the logs confirm"
    if report.improvements:
        words += f"; besides, {report.improvements} times whether the best had improved"
    if report.senders < ENOUGH * report.plans:
        raise UnprovenError(f"{words}, and two per plan would prove it; a node may have been away")
    return words


def check_plan(
    logs: Sequence[Log],
    ledger: Sequence[LedgerEntry],
    outcome: Outcome,
    shown: list[int] | None,
) -> str:
    """The plan must be one that was opened, after as many generations as the platform says.

    >>> check_plan([[], [], []], [], Outcome("interrupted"), None)
    'the nodes searched by themselves, and there is no plan yet'
    """
    check_shown(outcome, shown)
    if outcome.plan is None:
        return "the nodes searched by themselves, and there is no plan yet"
    opened = [entry.disclosed for entry in ledger if entry.number == REVEAL_NUMBER]
    if outcome.plan.items not in opened:
        raise LogError("the plan is none that the nodes opened; where is it from?")
    generations = check_generations_asked(logs)
    if outcome.generation != generations:
        raise LogError(
            f"the platform says that the plan is of generation {outcome.generation}, the logs say "
            f"{generations}; ask the operator"
        )
    return (
        f"the nodes searched by themselves, and the plan is theirs after {generations} generations"
    )


def _begun(logs: Sequence[Log]) -> bool:
    return any(line["event"] == "generations" for log in logs for line in log)
