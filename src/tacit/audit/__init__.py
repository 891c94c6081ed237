"""What a recorded run gives away: recording, attacks, measures, and the table of leakage.

The names are imported on first use: reading the table needs no attacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.audit.audit import audit_record as audit_record
    from tacit.audit.expected.explanation import (
        expected_in as expected_in,
        explain_expected as explain_expected,
        explain_leakage as explain_leakage,
    )
    from tacit.audit.expected.table import (
        Expected as Expected,
        expected_leakage as expected_leakage,
    )
    from tacit.audit.record.record import Record as Record, load_record as load_record
    from tacit.audit.record.recorder import Recorder as Recorder
    from tacit.audit.record.sealed_recording import sealed_record as sealed_record
    from tacit.audit.score.report import AuditReport as AuditReport
else:
    __getattr__ = lazily(__name__)
