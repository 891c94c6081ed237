"""Signing an agreement: only after every check, and never a second one for the same run."""

from __future__ import annotations

from tacit.engine.agreement import sign_agreement
from tacit.errors import TrustError
from tacit.participant.account.profile import Profile
from tacit.participant.account.shapes import RunView
from tacit.participant.account.trust import Trust
from tacit.participant.reviewing import Review, review


def sign(
    profile: Profile, run: str, /, *, trust: Trust | None = None, seen: Review | None = None
) -> RunView:
    """Sign a run's agreement and hand the signature in; what was signed stays in the profile.

    `seen` is the review that somebody has just read: its agreement is signed and no other.
    """
    made = seen if seen is not None else review(profile, run, trust=trust)
    made.check()
    agreement = made.agreement
    # First kept, then sent: whatever the platform has a signature for is known here.
    profile.keep_agreement(run, agreement)
    signature = sign_agreement(agreement, profile.keys().signing)
    with profile.connect() as client:
        return client.post(f"/runs/{run}/signature", {"signature": signature.hex()}, RunView)


def check_is_expected(made: Review, expected: str | None, /) -> None:
    """Refuse to sign another agreement than the one that somebody has read, unseen."""
    run = made.run.id
    if expected is None:
        raise TrustError(
            f"nobody has read the agreement of {run} here; run tacit participant review {run}, or "
            "name it with --agreement HASH"
        )
    if made.hash != expected.strip().lower():
        raise TrustError(
            f"the platform now shows agreement {made.hash[:16]}... for {run}, and not "
            f"{expected[:16]}..., which is the one to sign; nothing was signed: run tacit "
            f"participant review {run} and see what is different"
        )
