"""Who is told what: from something that happened to those who are needed next.

A notice names a run by its id and says what is needed. Names, terms, costs, plans, values and
reasons are not in it: mail and webhooks pass through the hands of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SENTENCES = {
    "invited": "you are invited to run {run}; join with the invitation that its operator gives you",
    "to_sign": "the agreement of run {run} is drawn up; review and sign it",
    "all_signed": "everybody has signed run {run}; it waits for inputs",
    "inputs_needed": "everybody has signed run {run}; submit your inputs",
    "inputs_refused": "the nodes refused your inputs for run {run}; correct and submit them again",
    "interrupted": "run {run} is interrupted; resume it",
    "finished": "run {run} is finished; fetch the result",
    "failed": "run {run} has failed; see why",
    "cancelled": "run {run} was cancelled; see why",
    "node_missing": "node {node} of cluster {cluster} does not answer",
    "node_back": "node {node} of cluster {cluster} answers again",
}
"""Each kind of notice in words."""
WATCHED = ("state", "member")
"""The kinds of events that notices are made of."""
_ENDS = ("finished", "failed", "cancelled")


@dataclass(frozen=True)
class Happened:
    """An event, as far as somebody has to be told of it."""

    kind: str
    data: dict[str, Any]


def told_of(
    event: Happened, members: Sequence[str], unsigned: Sequence[str], operators: Sequence[str], /
) -> Iterator[tuple[str, str]]:
    """Pairs of an account and what it is told.

    >>> list(told_of(Happened("state", {"state": "agreed"}), ["north"], [], ["ops"]))
    [('north', 'inputs_needed'), ('ops', 'all_signed')]
    """
    if event.kind == "member":
        if event.data.get("submission_state") == "refused":
            yield str(event.data["participant"]), "inputs_refused"
        return
    state = event.data.get("state")
    if state == "invited" and "agreement_hash" in event.data:
        yield from ((name, "to_sign") for name in unsigned)
    elif state == "invited":
        yield from ((name, "invited") for name in members)
    elif state == "agreed":
        yield from ((name, "inputs_needed") for name in members)
        yield from ((name, "all_signed") for name in operators)
    elif state == "interrupted":
        yield from ((name, "interrupted") for name in operators)
    elif state in _ENDS:
        yield from ((name, str(state)) for name in (*members, *operators))


def sentence(kind: str, data: dict[str, Any], /) -> str:
    """A notice in one sentence.

    >>> sentence("finished", {"run": "r-abcdefghij"})
    'run r-abcdefghij is finished; fetch the result'
    """
    return SENTENCES[kind].format(**data)
