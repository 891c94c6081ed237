"""A participant's side: review, sign, seal, submit, and check afterwards.

Everything the commands do is here as plain functions: `join` gives a `Profile`, which the others
take. They are imported when one of them is first used, since most commands need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.participant.checking import check_bundle_here, check_logs
    from tacit.participant.costs import AnyCosts, CommandCosts, FileCosts, cost_source
    from tacit.participant.follower import Follower, follow
    from tacit.participant.leakage_budget import budget, budget_json, budget_lines, repeated
    from tacit.participant.plans import (
        OwnCosts,
        ShownPlan,
        own_costs,
        plan_csv,
        plan_rows,
        plan_title,
        show_plan,
    )
    from tacit.participant.profile import (
        Profile,
        accept,
        default_folder,
        find_key_file,
        join,
        load_profile,
        new_key_file,
    )
    from tacit.participant.receipts import receipts_words
    from tacit.participant.results import OwnResult, find_run, find_series, result, runs, series_of
    from tacit.participant.review_words import review_json, review_lines
    from tacit.participant.reviewing import (
        Review,
        check_is_expected,
        keep_reviewed,
        review,
        reviewed_hash,
        sign,
    )
    from tacit.participant.series_records import (
        CountedRun,
        balance_lines,
        balance_of_run,
        balance_words,
        counted_runs,
        known_balances,
        signed_series,
    )
    from tacit.participant.series_review import (
        review_series,
        series_json,
        series_lines,
        sign_reviewed_series,
    )
    from tacit.participant.submission import (
        submissions,
        submit,
        wait_for_check,
        wait_for_end,
        withdraw,
    )
    from tacit.participant.trust import (
        Trust,
        joined_trust,
        load_trust,
        node_entry,
        own_entry,
        participant_entry,
        pin,
        save_trust,
        seen_trust,
        trust_lines,
        trust_text,
    )
else:
    __getattr__ = lazily(__name__)
