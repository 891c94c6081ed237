"""All checks of a run, from verified logs and the platform's ledger."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement import Agreement
from tacit.engine.records import LedgerEntry, Log
from tacit.problems import Problem
from tacit.verify import sealed
from tacit.verify.answers import check_disclosed, check_populations
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
    if agreement.sealed:
        asked = Finding.of("populations", sealed.check_asked, logs)
        told = Finding.of("answers", sealed.check_opened, agreement, logs, ledger)
    else:
        asked = Finding.of("populations", check_populations, logs)
        told = Finding.of("answers", check_disclosed, agreement, logs, ledger)
    if not told.ok and not told.unproven:  # a search that was told lies goes anywhere
        return [asked, told]

    def search() -> str:
        if agreement.sealed:
            return sealed.check_plan(logs, ledger, claim)
        return check_search(agreement, logs[0], ledger, claim, public=public)

    return [asked, told, Finding.of("search", search)]
