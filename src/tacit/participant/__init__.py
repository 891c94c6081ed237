"""A participant's side: review, sign, seal, submit, and check afterwards.

Everything the commands do is here as plain functions: `join` gives a `Profile`, which the others
take. They are imported when one of them is first used, since most commands need few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.participant.client import PlatformClient
    from tacit.participant.joining import join, new_key_file
    from tacit.participant.log_check import check_logs
    from tacit.participant.plain_words import leakage_words
    from tacit.participant.profile import Profile, load_profile
    from tacit.participant.results import result, runs
    from tacit.participant.reviewing import Review, review
    from tacit.participant.signing import sign
    from tacit.participant.submission import submissions, submit, withdraw
    from tacit.participant.trust import Trust, load_trust, save_trust, seen_trust
    from tacit.participant.verdict import Verdict

_HOME = {
    "PlatformClient": "client",
    "Profile": "profile",
    "Review": "reviewing",
    "Trust": "trust",
    "Verdict": "verdict",
    "check_logs": "log_check",
    "join": "joining",
    "leakage_words": "plain_words",
    "load_profile": "profile",
    "load_trust": "trust",
    "new_key_file": "joining",
    "result": "results",
    "review": "reviewing",
    "runs": "results",
    "save_trust": "trust",
    "seen_trust": "trust",
    "sign": "signing",
    "submissions": "submission",
    "submit": "submission",
    "withdraw": "submission",
}

__all__ = [
    "PlatformClient",
    "Profile",
    "Review",
    "Trust",
    "Verdict",
    "check_logs",
    "join",
    "leakage_words",
    "load_profile",
    "load_trust",
    "new_key_file",
    "result",
    "review",
    "runs",
    "save_trust",
    "seen_trust",
    "sign",
    "submissions",
    "submit",
    "withdraw",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"tacit.participant.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tacit.participant' has no attribute {name!r}")
