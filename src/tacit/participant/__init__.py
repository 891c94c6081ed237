"""A participant's side: review, sign, seal, submit, and check afterwards.

Everything the commands do is here as plain functions: `join` gives a `Profile`, which the others
take. They are imported when one of them is first used, since most commands need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.participant.checking import check_bundle_here, check_logs
    from tacit.participant.costs import AnyCosts, CommandCosts, FileCosts
    from tacit.participant.follower import Follower, follow
    from tacit.participant.leakage_budget import budget, budget_json, budget_lines, repeated
    from tacit.participant.plans import (
        OwnCosts,
        check_number,
        count_plans,
        other_plans,
        own_costs,
        plan_csv,
        plan_heads,
        plan_rows,
        plan_title,
        table_lines,
    )
    from tacit.participant.profile import (
        Profile,
        default_folder,
        find_key_file,
        join,
        load_profile,
        new_key_file,
    )
    from tacit.participant.results import OwnResult, result, runs, series_of
    from tacit.participant.review_words import review_json, review_lines
    from tacit.participant.reviewing import Review, check_is_expected, review, sign
    from tacit.participant.series_records import (
        CountedRun,
        account_lines,
        account_of_run,
        account_words,
        counted_runs,
        keep_reviewed_series,
        reviewed_series,
        signed_series,
    )
    from tacit.participant.series_review import (
        SeriesReview,
        review_series,
        series_json,
        series_lines,
        sign_reviewed_series,
    )
    from tacit.participant.submission import (
        check_is_finished,
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
        participant_entry,
        save_trust,
        seen_trust,
        trust_lines,
        trust_text,
    )
else:
    __getattr__ = lazily(__name__)
