"""What a recorded run gives away: recording, attacks, measures, and the table of leakage."""

from tacit.audit.audit import audit_record
from tacit.audit.record import Record, load_record
from tacit.audit.recorder import Recorder
from tacit.audit.report import AuditReport
from tacit.audit.table import Expected, expected_leakage
from tacit.audit.words import expected_in, in_words, leakage_words

__all__ = [
    "AuditReport",
    "Expected",
    "Record",
    "Recorder",
    "audit_record",
    "expected_in",
    "expected_leakage",
    "in_words",
    "leakage_words",
    "load_record",
]
