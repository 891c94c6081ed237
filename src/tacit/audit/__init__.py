"""What a recorded run gives away: recording, attacks, measures, and the table of leakage.

The names are imported when one of them is first used: whoever reads the table needs no attacks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.audit.audit import audit_record
    from tacit.audit.record import Record, load_record
    from tacit.audit.recorder import Recorder
    from tacit.audit.report import AuditReport
    from tacit.audit.sealed_recording import sealed_record
    from tacit.audit.table import Expected, expected_leakage
    from tacit.audit.words import expected_in, in_words, leakage_words

_HOME = {
    "AuditReport": "report",
    "Expected": "table",
    "Record": "record",
    "Recorder": "recorder",
    "audit_record": "audit",
    "expected_in": "words",
    "expected_leakage": "table",
    "in_words": "words",
    "leakage_words": "words",
    "load_record": "record",
    "sealed_record": "sealed_recording",
}

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
    "sealed_record",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
