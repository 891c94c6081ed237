"""What a recorded run gives away: recording, attacks, measures, and the table of leakage.

The names are imported on first use: reading the table needs no attacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.audit.attacks import ATTACKS, BASELINE, main_attacks
    from tacit.audit.attacks.priors.choice import last_week_of, prior_named, priors_that_fit
    from tacit.audit.attacks.priors.prior import PriorKnowledge
    from tacit.audit.attacks.unfaithful import random_view, recover_by_crafted, recover_from
    from tacit.audit.audit import NO_PLAN, PRIOR, Audit, audit_of, audit_record, strength
    from tacit.audit.expected.adding_up import Together, expected_together
    from tacit.audit.expected.explanation import (
        costs_or_values,
        explain_expected,
        explain_leakage,
        how_much,
        plan_for,
    )
    from tacit.audit.expected.table import (
        Entry,
        Expected,
        Told,
        expected_leakage,
        measured_entries,
    )
    from tacit.audit.record.agreed_recording import record_of_agreed
    from tacit.audit.record.record import Record, load_record
    from tacit.audit.record.recorder import Recorder
    from tacit.audit.record.schedule import first_columns
    from tacit.audit.record.sealed_recording import record_of_plans, record_of_result, sealed_record
    from tacit.audit.record.view import Cells, View, view_of
    from tacit.audit.score.counts import counts_of
    from tacit.audit.score.measure import Score, unit_of
    from tacit.audit.score.report import AuditReport, Measured, plot_growth
    from tacit.audit.score.truth_file import load_truth
else:
    __getattr__ = lazily(__name__)
