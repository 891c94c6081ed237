"""Signing an agreement: only after every check, and never a second one for the same run."""

from __future__ import annotations

from tacit.engine.signatures import sign_agreement
from tacit.participant.profile import Profile
from tacit.participant.reviewing import Review, review
from tacit.participant.shapes import RunView
from tacit.participant.trust import Trust


def sign(
    profile: Profile, run: str, /, *, trust: Trust | None = None, seen: Review | None = None
) -> RunView:
    """Sign a run's agreement and hand the signature in; what was signed stays in the profile.

    `seen` is the review that somebody has just read: its agreement is signed and no other.

    >>> sign.__name__
    'sign'
    """
    made = seen if seen is not None else review(profile, run, trust=trust)
    made.check()
    agreement = made.agreement
    # First kept, then sent: whatever the platform has a signature for is known here.
    profile.keep_agreement(run, agreement)
    signature = sign_agreement(agreement, profile.keys().signing)
    with profile.connect() as client:
        return client.post(f"/runs/{run}/signature", {"signature": signature.hex()}, RunView)
