"""Long-term equity on shares: what each participant saved, its balance, and its factor.

After a run `steps_after` gives shares of the step of each participant, from its costs under a
public reference plan and under the plan found; `balances` adds up stored steps without a message;
before the next run `factors` and `multiplied` put shares of the weights into proportion. A
`StepBook` counts each run once. Nothing is opened here but what all are told, by `open_for_all`
(docs/protocols/equity.md). `clear` is all of it over the integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.equity.account import (
        MEAN,
        SPREAD,
        Telling,
        account_of,
        empty_book,
        open_for_all,
    )
    from tacit.equity.after_run import RunSteps, steps_after
    from tacit.equity.agreed_terms import EquityTerms, RunEquity
    from tacit.equity.before_run import balances, factors, multiplied
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
    from tacit.equity.reference import columns_of, first_come
    from tacit.equity.rule import FINENESS, MEMORY, NEUTRAL, UNIT, EquityRule
    from tacit.equity.run_hooks import (
        Opened,
        PlanToCount,
        RunFacts,
        WithEquity,
        WithoutEquity,
    )
    from tacit.equity.shape import LEAST_PARTICIPANTS, EquityShape
    from tacit.equity.spread import balance_spread
else:
    __getattr__ = lazily(__name__)
