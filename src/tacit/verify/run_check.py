"""All checks of a run, from verified logs and the platform's ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tacit.engine.agreement import Agreement
from tacit.engine.records import LedgerEntry, Log
from tacit.problems import Problem
from tacit.verify import sealed
from tacit.verify.answers import check_disclosed, check_populations
from tacit.verify.loss import throughout, to_the_end
from tacit.verify.replay import check_search
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
    witness = throughout(logs)[0]
    checks: dict[str, Callable[[], str]] = {
        "populations": partial(check_populations, logs),
        "answers": partial(check_disclosed, agreement, logs, ledger),
        "search": partial(check_search, agreement, witness, ledger, claim, public=public),
    }
    if agreement.sealed:
        logs = to_the_end(logs)
        checks = {
            "populations": partial(sealed.check_asked, logs),
            "answers": partial(sealed.check_opened, agreement, logs, ledger),
            "search": partial(sealed.check_plan, logs, ledger, claim),
        }
    findings = [Finding.of(about, checks[about]) for about in ("populations", "answers")]
    if findings[-1].ok or findings[-1].unproven:  # wrong answers lead a search anywhere
        findings.append(Finding.of("search", checks["search"]))
    return findings
