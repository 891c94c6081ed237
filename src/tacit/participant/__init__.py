"""A participant's side: review, sign, seal, submit, and check afterwards.

Everything the commands do is here as plain functions: `join` gives a `Profile`, which the others
take. They are imported when one of them is first used, since most commands need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.participant.account.client import PlatformClient as PlatformClient
    from tacit.participant.account.joining import join as join, new_key_file as new_key_file
    from tacit.participant.account.profile import Profile as Profile, load_profile as load_profile
    from tacit.participant.account.trust import (
        Trust as Trust,
        load_trust as load_trust,
        save_trust as save_trust,
        seen_trust as seen_trust,
    )
    from tacit.participant.checking import check_logs as check_logs
    from tacit.participant.explanations import leakage_words as leakage_words
    from tacit.participant.results import result as result, runs as runs
    from tacit.participant.reviewing import Review as Review, review as review
    from tacit.participant.signing import sign as sign
    from tacit.participant.submission import (
        submissions as submissions,
        submit as submit,
        withdraw as withdraw,
    )
    from tacit.verify.verdict import Verdict as Verdict
else:
    __getattr__ = lazily(__name__)
