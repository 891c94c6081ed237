"""Long-term equity on shares: what each participant saved, its balance, and its factor.

After a run `steps_after` gives shares of the step of each participant, from its costs under a
public reference plan and under the plan found; `balances` adds up stored steps without a message;
before the next run `factors` and `multiplied` put shares of the weights into proportion. A
`StepBook` counts each run once. Nothing is opened but what all are told, by `open_for_all`
(docs/protocols/equity.md). `clear` computes all of it over the integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.equity.account import (
        account_of,
        balance_spread,
        empty_book,
        open_for_all,
    )
    from tacit.equity.book import FIRST_HEAD, RunEntry, StepBook, head_after
    from tacit.equity.clear import (
        balance_of,
        factor_of,
        least_costs,
        plan_costs,
        saved_shares,
        steps_of,
        weighted,
    )
    from tacit.equity.protocol import (
        RunSteps,
        balances,
        factors,
        multiplied,
        steps_after,
    )
    from tacit.equity.rule import (
        FINENESS,
        LEAST_PARTICIPANTS,
        MEMORY,
        NEUTRAL,
        UNIT,
        EquityRule,
        EquityShape,
    )
    from tacit.equity.run_hooks import (
        Opened,
        PlanToCount,
        RunFacts,
        WithEquity,
        WithoutEquity,
    )
    from tacit.equity.terms import (
        MEAN,
        SPREAD,
        EquityTerms,
        RunEquity,
        Telling,
        columns_of,
        first_come,
    )
else:
    __getattr__ = lazily(__name__)
