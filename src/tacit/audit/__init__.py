"""What a recorded run gives away: recording, attacks, measures, and the table of leakage."""

from tacit.audit.audit import audit_record
from tacit.audit.record import Record, load_record
from tacit.audit.recorder import Recorder
from tacit.audit.report import AuditReport

__all__ = ["AuditReport", "Record", "Recorder", "audit_record", "load_record"]
