"""Audit what a recorded run gives away: recording, attacks, measures, the table of leakage.

The names are imported on first use: reading the table needs no attacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.audit.audit import (
        NO_PLAN,
        PRIOR,
        Audit,
        AuditReport,
        Measured,
        audit_of,
        audit_record,
        plot_growth,
        strength,
    )
    from tacit.audit.explanation import (
        Together,
        costs_or_values,
        expected_together,
        explain_expected,
        explain_leakage,
        how_much,
        plan_for,
        words_for_plans,
    )
    from tacit.audit.leakage_table import (
        Entry,
        Expected,
        LeakageFigure,
        expected_leakage,
        measured_entries,
    )
    from tacit.audit.measure import Score, counts_of, unit_of
    from tacit.audit.platform_attacks import ATTACKS, BASELINE, main_attacks
    from tacit.audit.prior_choice import last_week_of, prior_named, priors_that_fit
    from tacit.audit.prior_knowledge import PriorKnowledge
    from tacit.audit.record import Record, first_columns, load_record
    from tacit.audit.recording import (
        Recorder,
        record_of_agreed,
        record_of_plans,
        record_of_result,
        sealed_record,
    )
    from tacit.audit.truth_file import load_truth
    from tacit.audit.unfaithful_platform import random_view, recover_by_crafted, recover_from
    from tacit.audit.varied_runs import told_by_plans
    from tacit.audit.view import Cells, View, view_of
else:
    __getattr__ = lazily(__name__)
