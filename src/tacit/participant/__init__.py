"""A participant's side: review, sign, seal, submit, and check afterwards.

Everything the commands do is here as plain functions: `join` gives a `Profile`, which the others
take.
"""

from tacit.participant.client import PlatformClient
from tacit.participant.joining import join, new_key_file
from tacit.participant.leakage_words import leakage_words
from tacit.participant.log_check import check_logs
from tacit.participant.profile import Profile, load_profile
from tacit.participant.results import result, runs
from tacit.participant.reviewing import Review, review
from tacit.participant.signing import sign
from tacit.participant.submission import submissions, submit, withdraw
from tacit.participant.trust import Trust, load_trust, save_trust, seen_trust
from tacit.participant.verdict import Verdict

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
