"""All checks of a run, from verified logs and the platform's ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.engine.agreement import Agreement
from tacit.engine.records import LedgerEntry, Log
from tacit.problems import Problem
from tacit.verify.answers import check_disclosed, check_populations
from tacit.verify.equity import check_counted
from tacit.verify.loss import throughout, to_the_end
from tacit.verify.replay import check_search
from tacit.verify.sealed.generations import check_asked
from tacit.verify.sealed.opened import check_opened, check_plan
from tacit.verify.verdict import Claim, Finding


def check_run(
    agreement: Agreement,
    logs: Sequence[Log],
    ledger: Sequence[LedgerEntry],
    claim: Claim,
    /,
    *,
    public: Problem | None = None,
) -> list[Finding]:
    """What was asked, what was disclosed, and what was made of it.

    `logs` are of different nodes, `public` has the weights of public objectives.
    """
    # Who was lost is looked up inside the checks: one log that lies about it is a finding, and
    # hides no other.
    checks: dict[str, Callable[[], str]] = {
        "populations": lambda: check_populations(logs),
        "answers": lambda: check_disclosed(agreement, logs, ledger),
        "search": lambda: check_search(
            agreement, throughout(logs)[0], ledger, claim, public=public
        ),
    }
    if agreement.sealed:
        checks = {
            "populations": lambda: check_asked(to_the_end(logs)),
            "answers": lambda: check_opened(agreement, to_the_end(logs), ledger),
            "search": lambda: check_plan(agreement, to_the_end(logs), ledger, claim),
        }
    findings = [Finding.of(about, checks[about]) for about in ("populations", "answers")]
    counted = []
    if agreement.equity is not None:
        counted = [Finding.of("balances", check_counted, agreement, logs, claim)]
    if findings[-1].ok or findings[-1].unproven:  # wrong answers lead a search anywhere
        findings.append(Finding.of("search", checks["search"]))
    return [*findings, *counted]
