"""A participant's side: review, sign, seal, submit, and check afterwards.

Everything the commands do is here as plain functions: `join` gives a `Profile`, which the others
take. They are imported when one of them is first used, since most commands need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.participant.account.joining import find_key_file, join, new_key_file
    from tacit.participant.account.profile import Profile, default_folder, load_profile
    from tacit.participant.account.shapes import Outcome
    from tacit.participant.account.trust import (
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
    from tacit.participant.bundle_checking import check_bundle_here
    from tacit.participant.checking import check_logs
    from tacit.participant.following.balances import account_lines, account_of_run, account_words
    from tacit.participant.following.cost_sources import AnyCosts, CommandCosts, FileCosts
    from tacit.participant.following.follower import Follower, follow
    from tacit.participant.following.run_records import (
        CountedRun,
        counted_runs,
        keep_reviewed_series,
        reviewed_series,
        signed_series,
    )
    from tacit.participant.following.series_review import (
        SeriesReview,
        review_series,
        series_json,
        series_lines,
        sign_reviewed_series,
    )
    from tacit.participant.leakage_budget import budget, budget_json, budget_lines, repeated
    from tacit.participant.plan_costs import OwnCosts, own_costs
    from tacit.participant.plan_table import plan_csv, plan_heads, plan_rows, table_lines
    from tacit.participant.results import result, runs, series_of
    from tacit.participant.review_words import review_json, review_lines
    from tacit.participant.reviewing import Review, check_is_expected, review, sign
    from tacit.participant.several_plans import check_number, count_plans, other_plans, plan_title
    from tacit.participant.submission import submissions, submit, withdraw
    from tacit.participant.waiting import check_is_finished, wait_for_check, wait_for_end
else:
    __getattr__ = lazily(__name__)
