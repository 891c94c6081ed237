"""Check the votes in nodes' logs: whatever was decided has a quorum, and nobody has voted twice.

A node logs its own votes before they leave it, and with them the votes of others that allowed them.
So two different votes of a node in one phase of a ballot are found in the logs of those that it
showed them to, whatever its own log says.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.agreement import Agreement
from tacit.errors import LogError
from tacit.records import (
    InputsFrozen,
    Log,
    PlanDecided,
    Poll,
    Subject,
    SubjectKind,
    Voted,
    contradicting,
    events_of,
    read_vote,
)


def _shown(log: Log) -> list[bytes]:
    """Return the votes of others that a log shows, and those of its own that it was shown."""
    lines = [event.votes for event in log if isinstance(event, Voted | PlanDecided | InputsFrozen)]
    try:
        return [bytes.fromhex(vote) for votes in lines for vote in votes]
    except ValueError:
        raise LogError("a log shows a vote that is none; its node made it up") from None


def votes_twice(agreement: Agreement, logs: Sequence[Log], /) -> list[bytes]:
    """Return what proves that nodes have voted twice in one phase of a ballot, if one has."""
    shown = {vote for log in logs for vote in _shown(log)}
    return contradicting({each: read_vote(agreement, each) for each in sorted(shown)})


def check_decided(agreement: Agreement, logs: Sequence[Log], /) -> None:
    """Check that a quorum has voted for all that was frozen, and for each state that was opened."""
    for log in logs:
        for frozen in events_of(InputsFrozen, log):
            subject = Subject(SubjectKind.INPUTS, frozen.objective)
            votes = [bytes.fromhex(each) for each in frozen.votes]
            found = Poll.read(agreement, subject, votes).decided()
            if found is None or found[1] != ":".join([frozen.manifests, *frozen.commitments]):
                raise LogError(
                    f"a node froze inputs of objective {frozen.objective} without the votes of all "
                    "nodes but one; ask its operator"
                )
        for event in events_of(PlanDecided, log):
            subject = Subject(SubjectKind.PLAN, event.search)
            votes = [bytes.fromhex(each) for each in event.votes]
            found = Poll.read(agreement, subject, votes).decided()
            if found is None or found[1] != event.attempt:
                raise LogError(
                    f"a node opened the plan of search {event.search} without the votes of all "
                    "nodes but one; ask its operator"
                )
